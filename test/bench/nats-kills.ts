/**
 * Measures for how long no result of a region is recorded when the NATS server is killed that leads the region's stream
 * of results, in a cluster of three. Arguments: kills (10), monitors (300), each checked from three regions every 30 s.
 *
 * Coordinator and agents run in this process, on SQLite. After each kill the server is started again, and the next
 * kill waits until it has caught up. At the end, each check that an agent reported must be recorded.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { resultsStream } from '@svc/shared/messages/subjects.ts';
import { startHttpTarget } from '../support/http-target.ts';
import { LocalService } from '../support/local-service.ts';
import { startNatsCluster } from '../support/nats-cluster.ts';
import { CHECKED_FROM, declaredMonitors, untilAllAreCheckedMs } from './declared-monitors.ts';
import { machine } from './machine.ts';
import { Overheard } from './overheard.ts';
import { median } from './process-usage.ts';
import { formatTable } from './table.ts';

/** Recorded results are looked for this often, ms. */
const LOOK_EVERY_MS = 50;
/** A kill is over when results have been recorded for this long, ms. */
const CALM_MS = 10_000;
/** Time in which each slot ends, and what was reported about it is recorded, ms. */
const RECORDED_WITHIN_MS = 60_000;

const [kills = 10, monitors = 300] = process.argv.slice(2).map(Number);
const cluster = await startNatsCluster();
const target = await startHttpTarget();
const service = await LocalService.start({
  regions: CHECKED_FROM,
  natsUrl: cluster.url,
  // Real time, because the servers elect their leaders in it.
  scale: 1,
  declared: { svc_http_monitor: declaredMonitors(monitors, target.port) },
});

// What one server has not passed on before it is killed is heard at another one.
const heard = await Promise.all([0, 1, 2].map((index) => Overheard.on(cluster.urlOf(index))));

/** The longest time without a recorded result of the region, from now until {@link CALM_MS} without such a gap, ms. */
async function longestGap(region: string): Promise<number> {
  const query = 'SELECT count(*) AS count FROM results WHERE slot > ? AND region = ?';
  const since = Date.now() - 1_000;
  let [longest, count, changedAt, calmFrom] = [0, -1, performance.now(), performance.now()];
  while (performance.now() - calmFrom < CALM_MS) {
    const [row] = await service.query<{ count: number }>(query, since, region);
    const now = performance.now();
    const gap = now - changedAt;
    if (gap > longest) [longest, calmFrom] = [gap, now];
    if (row !== undefined && row.count !== count) [count, changedAt] = [row.count, now];
    await delay(LOOK_EVERY_MS);
  }
  return longest;
}

try {
  await delay(untilAllAreCheckedMs(monitors));
  console.log(machine());
  const before = service.transitions.length;
  const first = Date.now();
  const gaps: number[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    const region = CHECKED_FROM[kill % CHECKED_FROM.length] ?? 'hosta-fra';
    const stream = resultsStream(region);
    while ((await cluster.currentServersOf(stream)) < 3) await delay(200);
    const leader = await cluster.leaderOf(stream);
    await cluster.kill(leader);
    gaps.push(await longestGap(region));
    console.error(`${region}: ${gaps.at(-1)?.toFixed(0)} ms`);
    await cluster.start(leader);
  }
  const until = Date.now();
  await delay(RECORDED_WITHIN_MS);
  const slots = await service.query<{ regions: number; count: number }>(
    `SELECT regions, count(*) AS count FROM (SELECT count(*) AS regions FROM results
      WHERE slot BETWEEN ? AND ? GROUP BY slot, monitor_id) AS slots GROUP BY regions`,
    first,
    until,
  );
  const whole = slots.find(({ regions }) => regions === CHECKED_FROM.length)?.count ?? 0;
  const all = slots.reduce((sum, { count }) => sum + count, 0);
  const lost = await Promise.all(heard.map((one) => one.lost(service, first, until)));
  console.log(
    formatTable(
      [
        `${kills} kills, ${monitors} monitors`,
        'nothing recorded for, ms (median)',
        'worst',
        'slots',
        'without a region',
        'results reported',
        'lost',
        'changes of status',
      ],
      [
        [
          'leader of a stream of results',
          median(gaps).toFixed(0),
          Math.max(...gaps).toFixed(0),
          String(all),
          String(all - whole),
          String(Math.max(...heard.map((one) => one.reported(first, until)))),
          String(Math.max(...lost)),
          String(service.transitions.length - before),
        ],
      ],
    ),
  );
  console.log(machine());
} finally {
  await Promise.all(heard.map((one) => one.close()));
  await service.dispose();
  await target.close();
  await cluster.dispose();
}
