import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { createSecureContext } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { decodeValue, encodeValue } from '@svc/terraform-provider/plugin/dynamic-value.ts';
import { decodeMessage, encodeMessage } from '@svc/terraform-provider/plugin/messages.ts';
import { UNKNOWN } from '@svc/terraform-provider/value.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compileCacheOf, ROOT } from '../../support/process.ts';
import { COOKIE, type RunningPlugin, startPlugin } from '../../support/terraform/plugin-process.ts';
import { THING } from '../../support/terraform/scripted-provider.ts';

const MAIN = fileURLToPath(new URL('../../support/terraform/scripted-provider-main.ts', import.meta.url));
const ends: (() => unknown)[] = [];
let folder: string;
let temporary: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-process-'));
  temporary = mkdtempSync(join(folder, 't'));
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  rmSync(folder, { recursive: true });
});

const eventsFile = () => join(folder, 'events');
const environment = () => ({ ...compileCacheOf(ROOT), TMPDIR: temporary, SVC_TEST_EVENTS: eventsFile() });
const events = () => (existsSync(eventsFile()) ? readFileSync(eventsFile(), 'utf8').trim().split('\n') : []);

type Started = { running: RunningPlugin; client: Client; stdout: () => string };

async function start(own: Readonly<Record<string, string>> = {}): Promise<Started> {
  const running = await startPlugin({ file: process.execPath, args: [MAIN] }, { ...environment(), ...own });
  let stdout = '';
  running.process.stdout?.on('data', (chunk) => {
    stdout += String(chunk);
  });
  const secure = createSecureContext({
    ca: running.serverCertificate,
    key: running.client.key,
    cert: running.client.certificate,
    allowPartialTrustChain: true,
  });
  const client = clientOf(running.target, credentials.createFromSecureContext(secure));
  ends.push(async () => {
    running.process.kill('SIGKILL');
    await running.ended;
  });
  return { running, client, stdout: () => stdout };
}

function clientOf(target: string, how: ReturnType<typeof credentials.createInsecure>): Client {
  const client = new Client(target, how, {
    'grpc.ssl_target_name_override': 'localhost',
    'grpc.default_authority': 'localhost',
  });
  ends.push(() => client.close());
  return client;
}

function call(client: Client, path: string, request: Buffer = Buffer.alloc(0)): Promise<Buffer> {
  const same = (bytes: Buffer) => bytes;
  return new Promise((resolve, reject) => {
    const done = (error: ServiceError | null, answer?: Buffer) => (error ? reject(error) : resolve(answer!));
    client.makeUnaryRequest(path, same, same, request, done);
  });
}

const SCHEMA = '/tfplugin6.Provider/GetProviderSchema';
const STOP = '/tfplugin6.Provider/StopProvider';
const SHUTDOWN = '/plugin.GRPCController/Shutdown';

/** @returns the id of the created object */
async function create(client: Client, name: string): Promise<unknown> {
  const planned = encodeValue(THING, { id: UNKNOWN, name, parts: [] }).value;
  const request = {
    type_name: 'svc_thing',
    prior_state: encodeValue(THING, null).value,
    planned_state: planned,
  };
  const bytes = encodeMessage('ApplyRequest', request);
  const answer = await call(client, '/tfplugin6.Provider/ApplyResourceChange', bytes);
  return decodeValue(THING, decodeMessage('ApplyResponse', answer).new_state)?.id;
}

/** Resolves when stderr has a line with the text. */
async function logged({ log, process: child }: RunningPlugin, text: string): Promise<void> {
  while (!log.some((line) => line.includes(text))) await once(child.stderr!, 'data');
}

/** Resolves when the provider reports this event. */
async function happened(event: string): Promise<void> {
  await expect.poll(events, { interval: 10 }).toContain(event);
}

async function exitCode({ running }: Started): Promise<number | null> {
  await running.ended;
  return running.process.exitCode;
}

type Said = { code: number | null; stdout: string; stderr: string };

/** Runs the program. Resolves when it has ended. */
async function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Said> {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  ends.push(() => child.kill('SIGKILL'));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, stdout, stderr };
}

describe('not started by Terraform', () => {
  test.each([
    ['nothing but a word about what it is', [], 1, '', 'is a plug-in: Terraform starts it'],
    ['help', ['--help'], 0, '--debug', ''],
    ['its version', ['--version'], 0, 'terraform-provider-scripted 1.2.3', ''],
  ])('%s', async (_, args, code, stdout, stderr) => {
    const said = await run([MAIN, ...args], environment());
    expect(said.code).toBe(code);
    expect(said.stdout).toContain(stdout);
    expect(said.stderr).toContain(stderr);
    if (stdout === '') expect(said.stdout).toBe('');
    expect(readdirSync(temporary)).toEqual([]);
    expect(events()).toEqual([]);
  });
});

describe('where a Unix socket cannot be created', () => {
  const SVC = fileURLToPath(new URL('../../../packages/terraform-provider/src/main.ts', import.meta.url));
  const tooLong = () => ({ TMPDIR: join(temporary, 'x'.repeat(100)) });
  const WHY = 'without a client certificate only a Unix socket keeps other users away';

  test('a port serves only the holder of the certificate', async () => {
    const { client, running } = await start(tooLong());
    expect(running.target).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(await create(client, 'a')).toBe('id of a');
    const stranger = clientOf(running.target, credentials.createInsecure());
    await expect(call(stranger, SCHEMA)).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });

  test('a debugging session is refused, with a message that says what to set', async () => {
    const { code, stdout, stderr } = await run([SVC, '--debug'], tooLong());
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(WHY);
    expect(stderr).toContain('set TMPDIR to a shorter folder');
  });

  test('a start with TF_DISABLE_PLUGIN_TLS is refused, with a message where Terraform shows it', async () => {
    const { code, stdout, stderr } = await run([SVC], { ...tooLong(), TF_PLUGIN_MAGIC_COOKIE: COOKIE });
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toMatch(/^The svc provider cannot start: [^\n]*\n$/);
    expect(stdout).toContain(WHY);
  });
});

test('Shutdown is answered and ends the process, which leaves no files', async () => {
  const started = await start();
  expect(readdirSync(temporary)).toHaveLength(1);
  expect(await create(started.client, 'a')).toBe('id of a');
  await call(started.client, SHUTDOWN);
  expect(await exitCode(started)).toBe(0);
  expect(readdirSync(temporary)).toEqual([]);
});

test('after the handshake nothing is written to standard output', async () => {
  const started = await start();
  expect(await create(started.client, 'print')).toBe('id of print');
  await call(started.client, SHUTDOWN);
  await exitCode(started);
  expect(started.stdout()).toBe('');
  expect(started.running.log).toContain('printed by a library');
});

test('Ctrl-C does not disturb a creation under way', async () => {
  const { running, client } = await start();
  const created = create(client, 'slow');
  await happened('creating slow');
  running.process.kill('SIGINT');
  await call(client, STOP);
  expect(events().at(-1)).toBe('stopped');
  running.process.kill('SIGUSR2');
  expect(await created).toBe('id of slow');
  expect(await create(client, 'another')).toBe('id of another');
});

test.each(['SIGTERM', 'SIGHUP'] as const)('%s ends it when the open calls are answered', async (signal) => {
  const started = await start();
  const created = create(started.client, 'slow');
  await happened('creating slow');
  started.running.process.kill(signal);
  await logged(started.running, signal);
  started.running.process.kill('SIGUSR2');
  expect(await created).toBe('id of slow');
  expect(await exitCode(started)).toBe(0);
  expect(events()).toContain('stopped');
  expect(readdirSync(temporary)).toEqual([]);
});

test.each([
  ['crash', 'Error: thrown where nobody catches'],
  ['reject', 'Error: rejected where nobody looks'],
])('a %s answers the open calls with the cause, in the form that Terraform shows', async (name, why) => {
  const started = await start();
  await expect(create(started.client, name)).rejects.toMatchObject({
    code: status.INTERNAL,
    details: `the provider crashed: ${why}`,
  });
  expect(await exitCode(started)).toBe(2);
  expect(started.running.log).toContain(`panic: ${why}`);
  expect(started.running.log.some((line) => line.includes('scripted-provider-main.ts'))).toBe(true);
  expect(readdirSync(temporary)).toEqual([]);
});

test('it ends when its parent is killed', async () => {
  // The shell waits for the provider, as Terraform does. Both have the same standard output.
  const parent = spawn('sh', ['-c', '"$0" "$1" & wait', process.execPath, MAIN], {
    env: { PATH: process.env.PATH ?? '', ...environment(), TF_PLUGIN_MAGIC_COOKIE: COOKIE },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const closed = once(parent.stdout, 'close');
  await once(createInterface({ input: parent.stdout }), 'line');
  parent.kill('SIGKILL');
  await closed;
  expect(readdirSync(temporary)).toEqual([]);
});

test('files that a killed provider leaves are removed by the tests that started it', async () => {
  const { process: child, target, ended } = await startPlugin({ file: process.execPath, args: [MAIN] });
  const folder = dirname(target.replace('unix:', ''));
  expect(readdirSync(folder)).toEqual(['socket']);
  child.kill('SIGKILL');
  await ended;
  expect(existsSync(folder)).toBe(false);
});

test('in debug mode it serves any number of commands until it gets a signal', async () => {
  const child = spawn(process.execPath, [MAIN, '--debug'], {
    env: environment(),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  ends.push(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let value = '';
  for await (const line of createInterface({ input: child.stdout })) {
    value = /^export TF_REATTACH_PROVIDERS='(.*)'$/.exec(line)?.[1] ?? '';
    if (value !== '') break;
  }
  const provider = JSON.parse(value)['registry.terraform.io/svc/svc'];
  expect(provider).toMatchObject({ Pid: child.pid, ProtocolVersion: 6, Test: true });

  for (let round = 1; round <= 2; round += 1) {
    const client = clientOf(`unix:${provider.Addr.String}`, credentials.createInsecure());
    await call(client, SCHEMA);
    await call(client, STOP);
    await call(client, SHUTDOWN);
  }
  // A stopped provider is not used again.
  expect(events()).toEqual(['loaded', 'stopped', 'loaded', 'stopped']);

  child.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
  expect(readdirSync(temporary)).toEqual([]);
});
