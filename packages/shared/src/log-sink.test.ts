import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, createReadStream, openSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';

const LOG = JSON.stringify(new URL('log.ts', import.meta.url).href);
/** More than waits for a reader that takes nothing. */
const MANY = 40_000;

let folder: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-log-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

/** A process that logs many lines, says so on standard output, and ends when its standard input does. */
function logging(count: number, stderr: 'pipe' | number, last = ''): ChildProcess {
  const script = `
    const { createLogger } = await import(${LOG});
    const log = createLogger('test', 'info');
    for (let number = 0; number < ${count}; number += 1) log.info({ number, text: 'x'.repeat(200) }, 'line');
    ${last}
    setImmediate(() => process.stdout.write('alive\\n'));
    process.stdin.resume().on('end', () => log.info('the end'));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', stderr],
  });
  children.push(child);
  return child;
}

async function said(child: ChildProcess): Promise<unknown> {
  return (await once(child.stdout as Readable, 'data')).toString();
}

type Line = { number?: number; lines?: number; msg: string };

const lostIn = (lines: readonly Line[]) => lines.reduce((sum, { lines: lost = 0 }) => sum + lost, 0);

/** Reads until the lines that are there and those that are said to be lost are all. */
async function readAll(stream: Readable, count: number): Promise<Line[]> {
  const read: Line[] = [];
  let known = 0;
  for await (const line of createInterface({ input: stream })) {
    const parsed = JSON.parse(line) as Line;
    read.push(parsed);
    known += parsed.lines ?? 1;
    if (known >= count) break;
  }
  return read;
}

function expectOrder(lines: readonly Line[]): void {
  const numbers = lines.flatMap(({ number }) => number ?? []);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
}

test('a pipe that nobody reads holds nothing up, and what was lost is said', async () => {
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = await open(fifo, constants.O_WRONLY);
  const child = logging(MANY, writer.fd);
  await writer.close();
  expect(await said(child)).toBe('alive\n');
  const lines = await readAll(createReadStream(fifo), MANY);
  closeSync(reader);
  expectOrder(lines);
  expect(lostIn(lines)).toBeGreaterThan(MANY / 2);
});

test('a socket that nobody reads holds nothing up, and what was lost is said', async () => {
  const child = logging(MANY, 'pipe');
  expect(await said(child)).toBe('alive\n');
  const lines = await readAll(child.stderr as Readable, MANY);
  expectOrder(lines);
  expect(lostIn(lines)).toBeGreaterThan(MANY / 2);
});

test('at the exit of the process what waits is written', async () => {
  const child = logging(100, 'pipe', 'process.exit(3)');
  const [lines, [code]] = await Promise.all([text(child.stderr as Readable), once(child, 'close')]);
  expect(code).toBe(3);
  expect(lines.trim().split('\n')).toHaveLength(100);
});

test('the exit waits for nobody', async () => {
  const child = logging(MANY, 'pipe', 'process.exit(3)');
  child.stderr?.pause();
  expect((await once(child, 'exit'))[0]).toBe(3);
});

test('what can be written nowhere is dropped', async () => {
  const full = await open('/dev/full', 'w');
  const child = logging(MANY, full.fd);
  await full.close();
  expect(await said(child)).toBe('alive\n');
  child.stdin?.end();
  expect((await once(child, 'exit'))[0]).toBe(0);
});
