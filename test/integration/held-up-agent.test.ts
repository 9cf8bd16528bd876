/**
 * An agent process is stopped while it waits for a target, as on a machine that gives it no CPU time. Its own
 * slowness must not count against the target. A target that was silent for most of the time in which the
 * agent ran must count as failed.
 */
import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn, setTimeout as passed } from 'node:timers/promises';
import { connectBus, type NatsBus } from '@svc/shared/nats/nats-bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { builtService } from '../support/built-services.ts';
import { type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { Program } from '../support/process.ts';
import { startRawTarget } from '../support/raw-target.ts';
import { httpCheck } from '../support/scripted-probe.ts';

const REGION: Region = 'hosta-fra';
const TIMEOUT_MS = 6_000;
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

let server: NatsServer;
let bus: NatsBus;
beforeAll(async () => {
  server = await startNatsServer();
  bus = await connectBus({ url: server.url, name: 'coordinator', log: pino({ level: 'silent' }) });
});
afterAll(async () => {
  await bus.close();
  await server.dispose();
});

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function startAgent(): Promise<Program> {
  const agent = new Program(await builtService('agent'), {
    SVC_NATS_URL: server.url,
    SVC_REGION: REGION,
    SVC_AGENT_ID: 'held-up',
  });
  closing.push(() => agent.end('SIGKILL'));
  await agent.start();
  return agent;
}

/** Stops the process. Resolves when it does nothing any more. */
async function stop({ pid }: Program): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  while (!/\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) await nextTurn();
}

/**
 * The result of the agent about a target, with one attempt.
 *
 * @param meanwhile called when the request has come; returns the answer
 */
async function found(meanwhile: (agent: Program) => Promise<string>): Promise<object> {
  const agent = await startAgent();
  const target = await startRawTarget((socket) => void meanwhile(agent).then((said) => socket.write(said)));
  closing.push(target.close);
  const outcome = Promise.withResolvers<object>();
  const subscription = bus.subscribe(`svc.runs.${REGION}.one`, ({ data }) =>
    outcome.resolve(JSON.parse(Buffer.from(data).toString()).result),
  );
  const check = httpCheck(target.url, { timeout: TIMEOUT_MS });
  bus.publish(`svc.jobs.${REGION}`, JSON.stringify({ v: 1, kind: 'run_now', run: 'one', check }));
  const result = await outcome.promise;
  subscription.close();
  // An agent that still ran would take the check of the next test.
  await agent.end('SIGKILL');
  return result;
}

async function stoppedFor(agent: Program, ms: number): Promise<void> {
  await stop(agent);
  await passed(ms);
  process.kill(agent.pid, 'SIGCONT');
}

describe.skipIf(process.platform !== 'linux')('an agent that is held up', () => {
  test('for a moment reports that a target was silent', async () => {
    const moment = () =>
      found(async (agent) => {
        await stoppedFor(agent, 800);
        return '';
      });
    // A busy machine may hold the agent up for longer than this moment. The agent then rightly reports that,
    // and the test tries again.
    await expect.poll(moment, { interval: 0 }).toMatchObject({ outcome: 'failed', timed_out: true });
  });

  test('for most of the time does not report that', async () => {
    const result = await found(async (agent) => {
      await stoppedFor(agent, TIMEOUT_MS * 0.7);
      return '';
    });
    expect(result).toMatchObject({ outcome: 'not_run', reason: 'agent-starved' });
  });

  test('beyond the time-out accepts the answer that came meanwhile', async () => {
    const result = await found(async (agent) => {
      await stop(agent);
      void passed(TIMEOUT_MS + 100).then(() => process.kill(agent.pid, 'SIGCONT'));
      return ANSWER;
    });
    expect(result).toMatchObject({ outcome: 'passed', status_code: 200 });
  });
});
