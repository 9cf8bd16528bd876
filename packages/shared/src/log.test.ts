import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, createReadStream, openSync, readSync } from 'node:fs';
import { type FileHandle, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isCode } from './errors.ts';
import { LogSink } from './log.ts';

const LOG = JSON.stringify(new URL('log.ts', import.meta.url).href);
/** More lines than may wait for a reader. */
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

/** Code that writes to standard output, and ends the process while lines are still unwritten. */
const SAY_AND_EXIT = "(await import('node:fs')).writeSync(1, 'ends\\n'); process.exit(3);";

/** A pipe whose reader reads only when the test makes it read. */
async function openFifo(): Promise<{ path: string; reader: number; writer: FileHandle }> {
  const path = join(folder, 'fifo');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { path, reader, writer: await open(path, constants.O_WRONLY | constants.O_NONBLOCK) };
}

/**
 * Starts a process that logs many lines, says so on standard output, and ends when its standard input ends.
 *
 * @param last code that the process runs after the lines
 * @param before the command that starts the process
 */
function logging(
  count: number,
  stderr: 'pipe' | number,
  last = '',
  before: readonly string[] = [],
): ChildProcess {
  const script = `
    const { createLogger } = await import(${LOG});
    const log = createLogger('test', 'info');
    for (let number = 0; number < ${count}; number += 1) log.info({ number, text: 'x'.repeat(200) }, 'line');
    ${last}
    setImmediate(() => process.stdout.write('alive\\n'));
    process.stdin.resume().on('end', () => log.info('the end'));`;
  return started([...before, process.execPath, '--input-type=module', '-e', script], stderr);
}

function started([program = '', ...args]: readonly string[], stderr: 'pipe' | number): ChildProcess {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', stderr] });
  children.push(child);
  return child;
}

async function said(child: ChildProcess): Promise<unknown> {
  return (await once(child.stdout as Readable, 'data')).toString();
}

/** Reads what is there. Returns the number of bytes; 0: nothing is there to read. */
function readIfAny(fd: number, into: Buffer): number {
  try {
    return readSync(fd, into);
  } catch (error) {
    if (isCode(error, 'EAGAIN')) return 0;
    throw error;
  }
}

type Line = { number?: number; lines?: number; msg: string };

const lostIn = (lines: readonly Line[]) => lines.reduce((sum, { lines: lost = 0 }) => sum + lost, 0);

/** Reads until the lines that were read and those that were reported as lost add up to `count`. */
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

test('an unread pipe does not block the process, and lost lines are counted', async () => {
  const { path, reader, writer } = await openFifo();
  const child = logging(MANY, writer.fd);
  await writer.close();
  expect(await said(child)).toBe('alive\n');
  const lines = await readAll(createReadStream(path), MANY);
  closeSync(reader);
  expectOrder(lines);
  expect(lostIn(lines)).toBeGreaterThan(MANY / 2);
});

test('an unread socket does not block the process, and lost lines are counted', async () => {
  const child = logging(MANY, 'pipe');
  expect(await said(child)).toBe('alive\n');
  const lines = await readAll(child.stderr as Readable, MANY);
  expectOrder(lines);
  expect(lostIn(lines)).toBeGreaterThan(MANY / 2);
});

test('at the exit of the process, waiting lines are written', async () => {
  const child = logging(100, 'pipe', 'process.exit(3)');
  const [lines, [code]] = await Promise.all([text(child.stderr as Readable), once(child, 'close')]);
  expect(code).toBe(3);
  expect(lines.trim().split('\n')).toHaveLength(100);
});

test('a slow reader gets all waiting lines at the exit', async () => {
  const { path, reader, writer } = await openFifo();
  // The waits are longer than those of a real exit, because a busy machine makes every reader slow.
  const script = `
    const { LogSink } = await import(${LOG});
    const sink = new LogSink(2, () => {}, { withoutProgressMs: 60_000, inAllMs: 120_000 });
    const text = 'x'.repeat(200);
    for (let number = 0; number < 3_000; number += 1) {
      sink.write(JSON.stringify({ number, text, msg: 'line' }) + String.fromCharCode(10));
    }
    ${SAY_AND_EXIT}`;
  const child = started([process.execPath, '--input-type=module', '-e', script], writer.fd);
  await writer.close();
  expect(await said(child)).toBe('ends\n');
  const lines = await readAll(createReadStream(path), 3_000);
  closeSync(reader);
  expectOrder(lines);
  expect(lines).toHaveLength(3_000);
});

test('a reader that ends before the exit has got whole lines', async () => {
  const { reader, writer } = await openFifo();
  const child = logging(3_000, writer.fd, SAY_AND_EXIT);
  await writer.close();
  expect((await once(child, 'exit'))[0]).toBe(3);
  const taken = Buffer.alloc(128 * 1_024);
  const lines = taken.toString('utf8', 0, readSync(reader, taken)).split('\n');
  closeSync(reader);
  expect(lines.pop()).toBe('');
  expect(lines.length).toBeGreaterThan(200);
  for (const line of lines) expect((JSON.parse(line) as Line).msg).toBe('line');
});

test('the number of lost lines is logged while others still wait, as soon as there is room', async () => {
  const { reader, writer } = await openFifo();
  let lost: number | null = null;
  const sink = new LogSink(writer.fd, (lines) => {
    lost = lines;
  });
  for (let count = 0; count < 5_000; count += 1) sink.write(`${'x'.repeat(1_023)}\n`);
  const taken = Buffer.alloc(64 * 1_024);
  let read = 0;
  let readBefore = 0;
  // 4 MiB of lines wait, and the first line was taken at once.
  while (read < 4_097 * 1_024) {
    read += readIfAny(reader, taken);
    if (lost === null) readBefore = read;
    await nextTurn();
  }
  closeSync(reader);
  await writer.close();
  expect(lost).toBe(5_000 - 4_097);
  expect(readBefore).toBeLessThan(3 * 1_024 ** 2);
});

test('a line that a full disk has cut spoils no other, and counts as lost', async () => {
  const path = join(folder, 'log');
  const file = await open(path, 'a');
  // The process reports that it lives when the thread pool has written a part of a line, and has then failed
  // to write the rest of the line and the next lines.
  const pause = `
    let failures = 0;
    await new Promise((failed) => process.on('SIGXFSZ', () => ++failures === 2 && failed()));`;
  const child = logging(200, file.fd, pause, ['prlimit', '--fsize=10000:']);
  await file.close();
  expect(await said(child)).toBe('alive\n');
  execFileSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited']);
  child.stdin?.end();
  await once(child, 'exit');
  const texts = (await readFile(path, 'utf8')).trimEnd().split('\n');
  const lines = texts.flatMap((each) => (each.endsWith('}') ? [JSON.parse(each) as Line] : []));
  expect(texts.length - lines.length).toBe(1);
  expect(lines.filter(({ msg }) => msg === 'line').length + lostIn(lines)).toBe(200);
  expect(lines.map(({ msg }) => msg)).toContain('the end');
});

test('the exit does not wait for a reader without a bound', async () => {
  const child = logging(MANY, 'pipe', 'process.exit(3)');
  child.stderr?.pause();
  expect((await once(child, 'exit'))[0]).toBe(3);
});

test('lines that cannot be written are dropped', async () => {
  const full = await open('/dev/full', 'w');
  const child = logging(MANY, full.fd);
  await full.close();
  expect(await said(child)).toBe('alive\n');
  child.stdin?.end();
  expect((await once(child, 'exit'))[0]).toBe(0);
});
