/** The bundles of `npm run build`, run where there is no repository. */
import { execFile, spawn } from 'node:child_process';
import { link, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { AGENT_EXECUTABLE } from '../../deploy/build/agent-executable.ts';
import { type Dist, sharedDist } from '../support/deployed/dist.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { openedIn, receiverIn, targetIn } from '../support/opened.ts';
import { LoggedProcess, Program } from '../support/process.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TOKEN = 'token-of-the-operator-in-the-bundles-test';

let dist: Dist;
/**
 * Links to the files of `dist`, in a folder to which tests may add files. It has a space in its name, as
 * folders of users may have.
 */
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc bundles '));
  dist = await sharedDist();
  for (const name of await readdir(dist.folder)) await link(join(dist.folder, name), join(folder, name));
  return () => rm(folder, { recursive: true });
});

/** A service that is killed when the test ends. */
function programIn(context: TestContext, file: string, environment: Record<string, string>): Program {
  const program = new Program(join(folder, file), environment);
  context.onTestFinished(() => void program.end('SIGKILL'));
  return program;
}

const SETTINGS = { coordinator: 'SVC_DATABASE_URL', agent: 'SVC_CONCURRENCY' };

describe.each(['coordinator', 'agent'] as const)('%s.mjs', (service) => {
  test('explains its settings', async () => {
    const { stdout } = await run(process.execPath, [join(folder, `${service}.mjs`), '--help'], { env: {} });
    expect(stdout).toContain(SETTINGS[service]);
  });

  test('has ASCII characters only: a single other one would double the memory of its text in each thread', async () => {
    const text = await readFile(join(folder, `${service}.mjs`), 'utf8');
    expect(text.match(/[^\x00-\x7f]+/g)).toBeNull();
  });

  test('can be run by itself, with the heap flags of npm start', async () => {
    const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const [, flags] = /^(?:[A-Z_]+=\S+ )*node (.*) packages/.exec(manifest.scripts[service]) ?? [];
    const [first] = (await readFile(join(folder, `${service}.mjs`), 'utf8')).split('\n', 1);
    expect(first).toBe(`#!/usr/bin/env -S node ${flags}`);
    await expect(run(join(folder, `${service}.mjs`), ['--help'])).resolves.toBeDefined();
  });

  test('says which Node it needs when Node is too old', async (context) => {
    const pretence = join(folder, `older-${service}.cjs`);
    await writeFile(pretence, "Object.defineProperty(process, 'versions', { value: { node: '20.19.0' } });");
    context.onTestFinished(() => rm(pretence));
    const started = run(process.execPath, ['--require', pretence, join(folder, `${service}.mjs`)]);
    await expect(started).rejects.toThrow('svc needs Node.js 24 or newer');
  });
});

test('svc.mjs makes a region, writes its settings to a new file, and examines a machine', async () => {
  const env = {
    PATH: process.env.PATH,
    SVC_DATA_DIR: join(folder, 'data'),
    SVC_NATS_SERVER: process.env.SVC_NATS_SERVER,
  };
  const svc = (...args: string[]) => run(join(folder, 'svc.mjs'), args, { env });
  const file = join(folder, 'agent.env');
  await svc('region', 'add', 'hosta-ams', '--env-file', file);
  expect(await readFile(file, 'utf8')).toMatch(/^SVC_NATS_NKEY=SU\w+$/m);
  const doctor = svc('doctor', 'agent', '--env-file', file, '--json');
  await expect(doctor).rejects.toThrow('checks failed');
  const found = await doctor.catch((error: { stdout: string }) => error.stdout);
  expect(String(found)).toContain('cannot connect to nats://127.0.0.1:4222');
});

test('a coordinator and an agent check a declared monitor, alert, and stop', async (context) => {
  const opened = openedIn(context);
  const web = await targetIn(opened);
  web.answerWith((response) => {
    response.statusCode = 503;
    response.end('down');
  });
  const hook = await receiverIn(opened);
  const nats = await startNatsServer();
  context.onTestFinished(() => nats.dispose());
  const data = await mkdtemp(join(tmpdir(), 'svc-bundles-data-'));
  context.onTestFinished(() => rm(data, { recursive: true }));
  const config = join(data, 'svc.json');
  await writeFile(
    config,
    JSON.stringify({
      svc_http_monitor: {
        web: { name: 'web', url: web.url, periodicity: '30s', active: true, retry: 0 },
      },
      svc_notification: {
        hook: {
          name: 'hook',
          provider_type: 'webhook',
          webhook: { endpoint: hook.url },
          // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference in the declared file
          monitor_ids: ['${svc_http_monitor.web.id}'],
        },
      },
    }),
  );

  const agent = programIn(context, 'agent.mjs', { SVC_NATS_URL: nats.url, SVC_REGION: 'hosta-fra' });
  const coordinator = programIn(context, 'coordinator.mjs', {
    SVC_NATS_URL: nats.url,
    SVC_DATA_DIR: data,
    SVC_CONFIG: config,
    SVC_LISTEN: '127.0.0.1:0',
    SVC_API_TOKEN: TOKEN,
    SVC_CHANNEL_EGRESS_ALLOW: '127.0.0.0/8',
  });
  const [, ready] = await Promise.all([
    agent.start(),
    coordinator.line(({ event }) => event === 'ready'),
    coordinator.start(),
  ]);

  const [alert] = await hook.received(1);
  expect(alert?.json).toMatchObject({ status: 'error', monitor: { name: 'web' } });
  // This request is answered by the thread that reads the database.
  const answer = await fetch(`${ready.url}/v1/monitors/1/results`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  expect(await answer.json()).toMatchObject({ data: [{ region: 'hosta-fra', outcome: 'failed' }] });

  expect(await agent.end('SIGTERM')).toBe(0);
  expect(await coordinator.end('SIGTERM')).toBe(0);
  expect([...agent.noise, ...coordinator.noise]).toEqual([]);
});

test('the agent as one executable needs no Node, and ignores options that are meant for Node', async (context) => {
  if (dist.withoutExecutable !== null) {
    process.stdout.write(`skipped: the agent as one executable: ${dist.withoutExecutable}\n`);
    return;
  }
  const nats = await startNatsServer();
  context.onTestFinished(() => nats.dispose());
  const executable = join(folder, AGENT_EXECUTABLE);
  const environment = { PATH: '/nowhere', NODE_OPTIONS: '--no-such-flag' };
  const { stdout } = await run(executable, ['--help'], { env: environment });
  expect(stdout).toContain('SVC_CONCURRENCY');

  const agent = new LoggedProcess(AGENT_EXECUTABLE, () =>
    spawn(executable, [], {
      env: { ...environment, SVC_NATS_URL: nats.url, SVC_REGION: 'hosta-fra' },
      stdio: ['ignore', 'ignore', 'pipe'],
    }),
  );
  context.onTestFinished(() => void agent.end('SIGKILL'));
  await agent.start();
  expect(await agent.end('SIGTERM')).toBe(0);
  // Its flags make it trust the certificate store of the system. Without them it would log a warning.
  expect([...agent.noise, ...agent.lines.filter(({ level }) => level >= 40)]).toEqual([]);
});
