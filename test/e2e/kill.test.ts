/**
 * Kills every process in turn with SIGKILL, while 1,000 checks a second run. The test compares what agents
 * published with the stored results, and the stored results with the points that a receiver of OTLP got. A
 * target that goes down meanwhile is announced once per monitor, and no outage of svc itself is announced.
 */
import type { CheckResult, ResultBatch } from '@svc/shared/messages/check-result.ts';
import { ALL_RESULTS, regionOfSubject } from '@svc/shared/messages/subjects.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats/nats-bus.ts';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import type { OtlpTotals } from '../support/otlp-totals-process.ts';
import { Program } from '../support/process.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { System } from '../support/system.ts';
import { startTargetProcess, type TargetProcess } from '../support/target-process.ts';

const REGIONS = ['hosta-fra', 'hostb-par', 'hostc-us-east4'] as const;
/** Each monitor is checked from three regions every 30 s: 1,000 checks a second. */
const MONITORS = 10_000;
/** Number of monitors whose target goes down in the middle of the test. */
const GOING_DOWN = 40;
/**
 * Time-out of the checks, ms. No answer takes so long even
 * on a busy machine, so a check fails only by the 503.
 */
const TIMEOUT_MS = 25_000;
/** Longest wait for recorded results, ms. It leaves room for a busy machine. */
const TEST_TIMEOUT_MS = 900_000;

let target: TargetProcess;
let receiver: Receiver;
let otlp: Program;
let otlpUrl: string;
let system: System;
let bus: NatsBus;
/** `monitor/slot/region` of every result that any agent published. */
const reported = new Set<string>();

beforeAll(async () => {
  target = await startTargetProcess();
  receiver = await startReceiver();
  const port = await freePort();
  otlpUrl = `http://127.0.0.1:${port}`;
  otlp = new Program('test/support/otlp-totals-process.ts', { PORT: String(port) });
  await otlp.start();
  system = await System.start({
    regions: REGIONS,
    declared: declaration(),
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: otlpUrl, OTEL_METRIC_EXPORT_INTERVAL: '20000' },
  });
  bus = await connectBus({ url: system.nats.url, name: 'test', log: pino({ level: 'silent' }) });
  bus.subscribe(ALL_RESULTS, (message) => {
    const region = regionOfSubject(message.subject);
    const batch = JSON.parse(Buffer.from(message.data).toString()) as ResultBatch;
    for (const result of batch.results as CheckResult[]) {
      reported.add(`${result.monitor}/${result.slot}/${region}`);
    }
  });
});

afterAll(async () => {
  await bus?.close();
  await system?.dispose();
  await receiver?.close();
  await otlp?.end('SIGKILL');
  await target?.close();
});

function declaration() {
  const monitors: Record<string, object> = {};
  for (let number = 0; number < MONITORS; number += 1) {
    const isGoingDown = number < GOING_DOWN;
    monitors[`m${number}`] = {
      name: `Monitor ${number}`,
      url: `${target.url}/${isGoingDown ? 'fragile' : 'steady'}`,
      periodicity: '30s',
      timeout: TIMEOUT_MS,
      retry: 1,
      active: true,
      regions: [...REGIONS],
    };
  }
  const all = Object.keys(monitors).map((name) => `\${svc_http_monitor.${name}.id}`);
  return {
    svc_http_monitor: monitors,
    svc_notification: {
      ops: { name: 'Ops', provider_type: 'webhook', webhook: { endpoint: receiver.url }, monitor_ids: all },
    },
  };
}

type Count = { count: number };

const countOf = async (sql: string, ...parameters: (string | number)[]) =>
  (await system.query<Count>(`SELECT count(*) AS count FROM ${sql}`, ...parameters))[0]?.count ?? 0;

/** Resolves when `count` further slots have a result. Counting results themselves would unpack each of them. */
async function recorded(count: number): Promise<void> {
  const goal = (await countOf('slot_results')) + count;
  await expect
    .poll(() => countOf('slot_results'), { timeout: TEST_TIMEOUT_MS, interval: 250 })
    .toBeGreaterThanOrEqual(goal);
}

/** Resolves when `count` results of new slots are recorded from the region. */
async function recordedFrom(region: string, count: number): Promise<void> {
  const since = Date.now();
  await expect
    .poll(() => countOf('results WHERE slot > ? AND region = ?', since, region), {
      timeout: TEST_TIMEOUT_MS,
      interval: 250,
    })
    .toBeGreaterThanOrEqual(count);
}

test('kill -9 of each process loses nothing, doubles nothing and announces nothing false', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  await recorded(2_000);

  // An agent is killed, while the other agents go on.
  const agent = system.agent('hostb-par');
  await agent.end('SIGKILL');
  await recorded(700);
  await agent.start();
  await recordedFrom('hostb-par', 500);

  // The receiver of metrics is killed. It starts again without its data.
  await otlp.end('SIGKILL');
  await recorded(700);
  await otlp.start();

  // The coordinator is killed at the moment when the target goes down for some monitors.
  target.goDown();
  await system.coordinator.end('SIGKILL');
  await system.coordinator.start();
  await recorded(1_700);

  // NATS is killed.
  await system.nats.kill();
  await system.nats.restart();
  await recorded(12_000);

  const alerts = await receiver.received(GOING_DOWN);
  await system.stop();

  // A new coordinator records the results that are still in the stream.
  await system.nats.restart();
  await system.coordinator.start();
  await expect
    .poll(
      async () => {
        const stored = await storedKeys();
        return [...reported].filter((key) => !stored.has(key)).length;
      },
      // Each poll reads every result.
      { timeout: TEST_TIMEOUT_MS, interval: 1_000 },
    )
    .toBe(0);

  await expectExported();

  // The primary key of the table rules out duplicate rows. The results that the test heard on NATS are
  // compared above. The test did not hear those that agents sent again before its own connection was back.
  expect(reported.size).toBeGreaterThan(25_000);
  const bodies = receiver.requests.map(
    (request) => request.json as { monitor: { name: string }; status: string },
  );
  expect(new Set(bodies.map((body) => body.status))).toEqual(new Set(['error']));
  expect(new Set(bodies.map((body) => body.monitor.name))).toEqual(
    new Set(Array.from({ length: GOING_DOWN }, (_, number) => `Monitor ${number}`)),
  );
  // Delivery is at least once. An alert that was sent twice because of the kill has the same id.
  expect(new Set(receiver.requests.map((request) => request.headers['webhook-id'])).size).toBe(GOING_DOWN);
  expect(alerts).toHaveLength(GOING_DOWN);
  expect(
    await countOf(
      `results WHERE outcome = 'failed' AND monitor_id NOT IN (SELECT id FROM monitors WHERE attributes LIKE '%fragile%')`,
    ),
  ).toBe(0);
  // On a busy machine a monitor may be without votes for a while. It then returns to its error, which is not
  // announced again.
  const down = await system.query("SELECT DISTINCT monitor_id FROM transitions WHERE to_status = 'error'");
  expect(down).toHaveLength(GOING_DOWN);
});

/**
 * The receiver gets the points that the stored results imply: every check once, whichever process was killed.
 */
async function expectExported(): Promise<void> {
  const stored = new Map(
    (
      await system.query<{ key: string; checks: number; seconds: number }>(
        `SELECT monitor_id || ' ' || region || ' ' || outcome AS key, count(*) AS checks, sum(latency) / 1000 AS seconds
         FROM results WHERE outcome <> 'not_run' GROUP BY monitor_id, region, outcome`,
      )
    ).map(({ key, ...sums }) => [key, sums]),
  );
  const checksOf = (totals: Iterable<{ checks: number }>) =>
    [...totals].reduce((sum, { checks }) => sum + checks, 0);
  let exported: OtlpTotals = {};
  await expect
    .poll(
      async () => {
        exported = (await (await fetch(otlpUrl)).json()) as OtlpTotals;
        return checksOf(Object.values(exported));
      },
      { timeout: TEST_TIMEOUT_MS, interval: 2_000 },
    )
    .toBe(checksOf(stored.values()));
  const wrong = Object.entries(exported).filter(([key, { checks, durations, seconds }]) => {
    const { checks: all, seconds: sum } = stored.get(key) ?? { checks: 0, seconds: 0 };
    return checks !== all || durations !== all || Math.abs(seconds - sum) > 1e-6;
  });
  expect(wrong).toEqual([]);
}

async function storedKeys(): Promise<Set<string>> {
  return new Set(
    (
      await system.query<{ key: string }>(
        "SELECT monitor_id || '/' || slot || '/' || region AS key FROM results",
      )
    ).map((row) => row.key),
  );
}
