/**
 * Measures how soon an alert arrives. At 1,000 checks a second, a target goes down for a tenth of 10,000
 * monitors. The benchmark takes the time from the decision of the slot to the arrival of the webhook for each
 * of them.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver } from '../support/receiver.ts';
import { System } from '../support/system.ts';
import { Children } from './children.ts';
import { CHECKED_FROM, declaredMonitors, untilAllAreCheckedMs, webhook } from './declared-monitors.ts';
import { percentile } from './process-usage.ts';
import { formatTable } from './table.ts';

const MONITORS = 10_000;
const FRAGILE = 1_000;

const children = new Children();
const target = await children.node('test/bench/target-process.ts');
const receiver = await startReceiver();
const arrivedAt: number[] = [];
receiver.answerWith((_request, response) => {
  arrivedAt.push(Date.now());
  response.end();
});
const system = await System.start({ regions: CHECKED_FROM, declared: declaration(Number(target.line)) });
try {
  await delay(untilAllAreCheckedMs(MONITORS));
  target.send('down');
  await receiver.received(FRAGILE);
  await delay(2_000);
  const changes = new Map(
    (
      await system.query<{ id: number; at: number; slot: number }>(
        "SELECT monitor_id AS id, at, slot FROM transitions WHERE to_status = 'error'",
      )
    ).map((change) => [change.id, change]),
  );
  const reports = new Map(
    (
      await system.query<{ id: number; slot: number; recorded: number }>(
        "SELECT monitor_id AS id, slot, min(recorded_at) AS recorded FROM results WHERE outcome = 'failed' GROUP BY monitor_id, slot",
      )
    ).map(({ id, slot, recorded }) => [`${id}/${slot}`, recorded]),
  );
  const fromDecision: number[] = [];
  const fromSlot: number[] = [];
  for (const [index, request] of receiver.requests.entries()) {
    const { monitor, cronTimestamp } = request.json as { monitor: { id: number }; cronTimestamp: number };
    const change = changes.get(monitor.id);
    if (change === undefined || !reports.has(`${monitor.id}/${cronTimestamp}`)) continue;
    fromDecision.push((arrivedAt[index] ?? 0) - change.at);
    fromSlot.push((arrivedAt[index] ?? 0) - cronTimestamp);
  }
  const row = (name: string, values: number[]) => [
    name,
    String(values.length),
    ...[0.5, 0.99, 1].map((share) => percentile(values, share).toFixed(0)),
  ];
  console.log(
    formatTable(
      ['at 1,000 checks/s', 'alerts', 'p50 ms', 'p99 ms', 'worst ms'],
      [row('slot decided → webhook arrived', fromDecision), row('slot due → webhook arrived', fromSlot)],
    ),
  );
} finally {
  await system.dispose();
  await receiver.close();
  await children.endAll();
}

function declaration(port: number): object {
  const monitors = declaredMonitors(MONITORS, port, (number) => ({
    url: `http://127.0.0.1:${port}/${number < FRAGILE ? 'fragile' : 'steady'}`,
    retry: 0,
  }));
  return { svc_http_monitor: monitors, svc_notification: { hook: webhook(receiver.url, monitors) } };
}
