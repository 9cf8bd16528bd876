/**
 * Agents and coordinators are upgraded in any order. Messages of version 0.1 are read and have the same
 * effects, and messages to a receiver that announced nothing can be read by 0.1.
 */

import { readFileSync } from 'node:fs';
import { Agent } from '@svc/agent/app.ts';
import { readJob, readJobsMessage } from '@svc/agent/job-message.ts';
import { AgentMessages } from '@svc/coordinator/dispatch/agent-messages.ts';
import { newCounters } from '@svc/coordinator/dispatch/counters.ts';
import { parseResults } from '@svc/coordinator/recording/parse-results.ts';
import { systemClock } from '@svc/shared/clock.ts';
import { asFirstReason, NOT_RUN_REASONS } from '@svc/shared/messages/check-result.ts';
import type { AgentMessage } from '@svc/shared/messages/heartbeat.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats-bus.ts';
import { Secret } from '@svc/shared/secret.ts';
import { pino } from 'pino';
import { describe, expect, type TestContext, test } from 'vitest';
import { checkJob, jobsMessage } from '../fixtures/messages-0.1/rules/check-job.ts';
import * as rules from '../fixtures/messages-0.1/rules/check-result.ts';
import { agentMessage } from '../fixtures/messages-0.1/rules/heartbeat.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { openedIn, serviceIn } from '../support/opened.ts';
import { RegionStream } from '../support/region-stream.ts';
import { outcomeOf, ScriptedProbe } from '../support/scripted-probe.ts';

const log = pino({ level: 'silent' });
const REGION = 'hosta-fra';

type Recorded = { subject: string; message: Record<string, unknown> };

function recorded(name: string): Recorded {
  return JSON.parse(readFileSync(new URL(`../fixtures/messages-0.1/${name}.json`, import.meta.url), 'utf8'));
}

const bytes = (message: object): Uint8Array => Buffer.from(JSON.stringify(message));

/** With its check in clear, as it was sent. */
function opened(read: unknown): unknown {
  const { check, ...rest } = Object(read) as { check?: unknown };
  return check instanceof Secret ? { ...rest, check: check.reveal() } : read;
}

describe("today's readers take what 0.1 sent, as it is", () => {
  test.each(['jobs', 'run-now', 'roll-call'])('%s', (name) => {
    const { message } = recorded(name);
    expect(opened(readJobsMessage(bytes(message)))).toEqual(message);
  });

  test('every job', () => {
    const jobs = recorded('jobs').message.jobs as { check: { type: string }; slow?: boolean }[];
    expect(new Set(jobs.map(({ check }) => check.type))).toEqual(new Set(['http', 'tcp', 'dns']));
    expect(jobs.some(({ slow }) => slow === true)).toBe(true);
    for (const job of jobs) {
      const read = readJob(job);
      expect({ is: read.is, job: 'job' in read && opened(read.job) }).toEqual({ is: 'job', job });
    }
  });

  test.each(['heartbeat', 'heartbeat-draining', 'acceptance', 'acceptance-with-refusals', 'run-outcome'])(
    '%s',
    (name) => {
      const { subject, message } = recorded(name);
      const read: AgentMessage[] = [];
      const counters = newCounters();
      const onMessage = (region: string, each: AgentMessage) => {
        expect(region).toBe(REGION);
        read.push(each);
      };
      const messages = new AgentMessages({ clock: systemClock, log, counters, onMessage });
      messages.handle(REGION, { subject, data: bytes(message), reply: '', bytes: 0, isNoResponders: false });
      expect(read).toEqual([message]);
      expect(counters.messagesDropped).toBe(0);
    },
  );

  test('results', async () => {
    const { subject, message } = recorded('results');
    const data = bytes(message);
    expect(await parseResults({ subject, data, sequence: 1, time: 0, messageId: '' })).toEqual({
      region: REGION,
      agent: message.agent,
      results: message.results,
      malformed: 0,
    });
  });
});

test('a reason that 0.1 does not know may go only where the jobs name a subject', () => {
  // A new reason of agents may be sent only for jobs with `results`. Add it here.
  expect(NOT_RUN_REASONS).toEqual([...rules.NOT_RUN_REASONS, 'network-down', 'no-ipv6']);
  for (const reason of NOT_RUN_REASONS) expect(rules.NOT_RUN_REASONS).toContain(asFirstReason(reason));
});

const PASSED = outcomeOf('passed', { phases: { connect: 10 } });

/** Everything that agents publish, as the server passes it on. */
async function listenTo(
  bus: NatsBus,
): Promise<{ found: Recorded[]; until(is: () => boolean): Promise<void> }> {
  const found: Recorded[] = [];
  let wake = (): void => {};
  for (const subject of ['svc.agents.>', 'svc.results.>']) {
    bus.subscribe(subject, (message) => {
      found.push({ subject: message.subject, message: JSON.parse(Buffer.from(message.data).toString()) });
      wake();
    });
  }
  await bus.flush();
  return {
    found,
    async until(is) {
      while (!is()) await new Promise<void>((resolve) => (wake = resolve));
    },
  };
}

async function agentOf(context: TestContext): Promise<{ bus: NatsBus; probe: ScriptedProbe }> {
  const opened = openedIn(context);
  const server = await startNatsServer();
  opened.push({ close: () => server.dispose() });
  const bus = await connectBus({ url: server.url, name: 'coordinator', log });
  opened.push({ close: () => bus.close() });
  await new RegionStream(bus, REGION).ensure({ maxBytes: 1e8 });
  const probe = new ScriptedProbe();
  const agent = new Agent({
    config: {
      region: REGION,
      agentId: 'agent-1',
      concurrency: 1_000,
      listen: undefined,
      metricsToken: undefined,
      drainMs: 200,
    },
    bus: await connectBus({ url: server.url, name: 'agent', log }),
    probeSet: probe.set,
    clock: systemClock,
    log,
  });
  opened.push({ close: () => agent.stop() });
  await agent.start();
  return { bus, probe };
}

describe("today's agent under a coordinator of 0.1", () => {
  test('runs its jobs, and says what 0.1 reads', async (context) => {
    const { bus, probe } = await agentOf(context);
    const heard = await listenTo(bus);
    const { subject, message } = recorded('jobs');
    const jobs = message.jobs as object[];
    const more = Array.from({ length: 200 }, (_, index) => ({ ...jobs[0], monitor: 1_000 + index }));
    const batches = [jobs, ...[0, 50, 100, 150].map((from) => more.slice(from, from + 50))];
    for (const batch of batches) bus.publish(subject, bytes({ ...message, jobs: batch }));
    for (const name of ['run-now', 'roll-call']) bus.publish(subject, bytes(recorded(name).message));
    const total = jobs.length + more.length;
    await probe.begun(total + 1);
    for (const attempt of probe.attempts.slice(0, 10)) {
      attempt.end(outcomeOf('not_run', { reason: 'network-down' }));
    }
    for (const attempt of probe.attempts) {
      // The last one is the run by hand.
      attempt.end(attempt === probe.attempts.at(-1) ? outcomeOf('not_run', { reason: 'no-ipv6' }) : PASSED);
    }

    const results = () => heard.found.filter((each) => each.subject === `svc.results.${REGION}`);
    const reported = () => results().flatMap((each) => each.message.results as { monitor: number }[]);
    await heard.until(() => reported().length === total);
    for (const each of results()) {
      expect(rules.resultBatch.safeParse(each.message).error).toBeUndefined();
      expect(bytes(each.message).length).toBeLessThanOrEqual(256 * 1_024);
    }
    for (const each of reported()) expect(rules.checkResult.parse(each)).toEqual(each);
    await heard.until(() => heard.found.some((each) => each.message.kind === 'run_outcome'));
    const said = heard.found.filter((each) => each.subject === `svc.agents.${REGION}`);
    expect(new Set(said.map((each) => each.message.kind))).toEqual(
      new Set(['acceptance', 'run_outcome', 'heartbeat']),
    );
    for (const each of said) expect(agentMessage.safeParse(each.message).error).toBeUndefined();
  });
});

describe("today's coordinator with an agent of 0.1", () => {
  test('sends it what 0.1 reads, and records what it reports', async (context) => {
    const opened = openedIn(context);
    const monitors = Array.from({ length: 150 }, (_, index) => [
      `m${index}`,
      {
        name: `M${index}`,
        uri: '127.0.0.1:9',
        periodicity: '30s',
        active: true,
        retry: 0,
        regions: [REGION],
      },
    ]);
    const service = await serviceIn(opened, {
      regions: [],
      scale: 5,
      declared: { svc_tcp_monitor: Object.fromEntries(monitors) },
    });
    const bus = await connectBus({ url: service.nats.url, name: 'agent of 0.1', log });
    opened.push({ close: () => bus.close() });
    const refused: unknown[] = [];
    const beat = (): void => bus.publish(`svc.agents.${REGION}`, bytes(recorded('heartbeat').message));
    bus.subscribe(
      `svc.jobs.${REGION}`,
      ({ data }) => {
        const read = jobsMessage.safeParse(JSON.parse(Buffer.from(data).toString()));
        if (!read.success) refused.push(read.error);
        else if (read.data.kind === 'jobs') answer(bus, read.data, refused);
      },
      { queue: 'agents' },
    );
    await bus.flush();
    const stop = service.clock.every(2_000, beat);
    opened.push({ close: async () => stop() });
    beat();
    await service.until(() => service.query('SELECT 1 FROM results GROUP BY monitor_id').length === 150);
    expect(refused).toEqual([]);
    expect(service.query("SELECT * FROM results WHERE outcome NOT IN ('passed', 'not_run')")).toEqual([]);
  });
});

/** Accepts each job and reports it as passed, in messages of 0.1. */
function answer(bus: NatsBus, batch: { batch: string; jobs: unknown[] }, refused: unknown[]): void {
  const jobs = batch.jobs.flatMap((value) => {
    const job = checkJob.strict().safeParse(value);
    if (!job.success) refused.push(job.error);
    return job.success ? [job.data] : [];
  });
  const accepted = jobs.map(({ monitor, slot }) => [monitor, slot]);
  const { agent } = recorded('heartbeat').message;
  bus.publish(
    `svc.agents.${REGION}`,
    bytes({ v: 1, kind: 'acceptance', agent, batch: batch.batch, accepted, refused: [] }),
  );
  const results = jobs.map(({ monitor, version, slot, token }) => ({
    ...{ monitor, version, slot, token },
    ...{ outcome: 'passed', started_at: slot, latency: 1, phases: { connect: 1 } },
    attempts: [{ outcome: 'passed', started_ms: 0, latency: 1 }],
  }));
  if (results.length > 0) bus.publish(`svc.results.${REGION}`, bytes({ v: 1, agent, results }));
}
