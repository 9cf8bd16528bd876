import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type NatsServer, startNatsServer } from '../../../test/support/nats-server.ts';
import { compileCacheOf, ROOT } from '../../../test/support/process.ts';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

let server: NatsServer;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.dispose());

let child: ChildProcess | null = null;
afterEach(() => child?.kill('SIGKILL'));

type Agent = {
  child: ChildProcess;
  said: () => string;
  more: () => Promise<void>;
  ended: Promise<[number | null, NodeJS.Signals | null]>;
};

function startAgent(environment: Record<string, string>, args: string[] = []): Agent {
  const started = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { PATH: process.env.PATH ?? '', ...compileCacheOf(ROOT), ...environment },
  });
  child = started;
  let said = '';
  let next = Promise.withResolvers<void>();
  for (const stream of [started.stdout, started.stderr]) {
    stream?.on('data', (chunk) => {
      said += chunk;
      next.resolve();
      next = Promise.withResolvers();
    });
  }
  // The test waits for `exit`, because Node does not emit `close` after a disconnect.
  const ended = once(started, 'exit') as Agent['ended'];
  return { child: started, said: () => said, more: () => next.promise, ended };
}

async function saying(agent: Agent, text: string): Promise<void> {
  while (!agent.said().includes(text)) await agent.more();
}

const settings = (): Record<string, string> => ({
  SVC_NATS_URL: server.url,
  SVC_REGION: 'hosta-fra',
  SVC_DRAIN_MS: '2000',
});

describe('the agent as a process', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('%s ends it cleanly', async (signal) => {
    const agent = startAgent(settings());
    await saying(agent, '"event":"ready"');
    agent.child.kill(signal);
    expect(await agent.ended).toEqual([0, null]);
  });

  test('it ends when its supervisor is gone', async () => {
    const agent = startAgent({ ...settings(), SVC_SUPERVISED: '1' });
    await saying(agent, '"event":"ready"');
    agent.child.disconnect();
    expect(await agent.ended).toEqual([0, null]);
  });

  test('it can be ended while it still waits for NATS', async () => {
    const agent = startAgent({ ...settings(), SVC_NATS_URL: 'nats://127.0.0.1:1', SVC_METRIC_TOKEN: 'x' });
    await saying(agent, 'did you mean SVC_METRICS_TOKEN?');
    agent.child.kill('SIGTERM');
    expect(await agent.ended).toEqual([0, null]);
  });

  test('bad settings stop it with a list of the problems', async () => {
    const agent = startAgent({ SVC_REGION: 'hosta-mars', SVC_CONCURRENCY: 'many' });
    expect(await agent.ended).toEqual([1, null]);
    await saying(agent, 'SVC_CONCURRENCY');
    expect(agent.said()).toMatch(
      /^cannot start with these settings:\n {2}SVC_REGION: .+\n {2}SVC_NATS_URL .+\n {2}SVC_CONCURRENCY: .+\n$/,
    );
  });

  test('a NATS server beyond loopback without TLS stops it; where the setting allows it, each start warns of it', async () => {
    // By its text, 0.0.0.0 is not a loopback address, but connections to it stay on this machine.
    const beyond = { ...settings(), SVC_NATS_URL: `nats://0.0.0.0:${server.port}` };
    const refused = startAgent(beyond);
    expect(await refused.ended).toEqual([1, null]);
    await saying(refused, 'SVC_NATS_ALLOW_PLAIN=1');
    for (let start = 0; start < 2; start += 1) {
      const agent = startAgent({ ...beyond, SVC_NATS_ALLOW_PLAIN: '1' });
      await saying(agent, '"event":"ready"');
      expect(agent.said()).toContain('has no TLS: keys, jobs and results travel in clear text');
      agent.child.kill('SIGTERM');
      expect(await agent.ended).toEqual([0, null]);
    }
  });

  test('an address in use stops it', async () => {
    const agent = startAgent({ ...settings(), SVC_AGENT_LISTEN: `127.0.0.1:${server.port}` });
    expect(await agent.ended).toEqual([1, null]);
    await saying(agent, 'EADDRINUSE');
  });

  test('--help prints the settings', async () => {
    const agent = startAgent({}, ['--help']);
    expect(await agent.ended).toEqual([0, null]);
    await saying(agent, 'SVC_LOG_LEVEL');
    expect(agent.said()).not.toContain('SVC_SUPERVISED');
  });

  test('it probes for real: a refused connection is a failure, the metadata address is not asked', async () => {
    const bus = await connectBus({ url: server.url, name: 'coordinator', log: pino({ level: 'silent' }) });
    const outcomes = new Map<string, unknown>();
    const both = new Promise<void>((resolve) => {
      bus.subscribe('svc.runs.hosta-fra.*', ({ subject, data }) => {
        outcomes.set(
          subject.slice(subject.lastIndexOf('.') + 1),
          JSON.parse(Buffer.from(data).toString()).result,
        );
        if (outcomes.size === 2) resolve();
      });
    });
    const agent = startAgent(settings());
    await saying(agent, '"event":"ready"');
    for (const [run, uri] of [
      ['refused', '127.0.0.1:1'],
      ['metadata', '169.254.169.254:80'],
    ]) {
      const check = { type: 'tcp', uri, timeout: 2_000, retry: 0, degraded_at: 0 };
      bus.publish('svc.jobs.hosta-fra', JSON.stringify({ v: 1, kind: 'run_now', run, check }));
    }
    await both;
    expect(outcomes.get('refused')).toMatchObject({ outcome: 'failed' });
    expect(outcomes.get('metadata')).toMatchObject({ outcome: 'not_run', reason: 'egress-denied' });
    await bus.close();
    agent.child.kill('SIGTERM');
    expect(await agent.ended).toEqual([0, null]);
  });
});
