/**
 * Measures how soon checks continue after a `kill -9`, at 1,000 checks a
 * second: from the restart of the process to the first recorded result of a
 * check that began after it. For an agent, the result must be of its region.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { System } from '../support/system.ts';
import { Children } from './children.ts';
import { CHECKED_FROM, declaredMonitors, untilAllAreCheckedMs } from './declared-monitors.ts';
import { median } from './process-usage.ts';
import { formatTable } from './table.ts';

const MONITORS = 10_000;
const ROUNDS = 5;
/** Time for which a coordinator listens to agents before it publishes the first job, ms. */
const HEARD_MS = 2_500;

const children = new Children();
const target = await children.node('test/bench/target-process.ts');
const system = await System.start({
  regions: CHECKED_FROM,
  declared: { svc_http_monitor: declaredMonitors(MONITORS, Number(target.line)) },
});
const [region = 'hosta-fra'] = CHECKED_FROM;

/**
 * Returns the time until a result is recorded whose check began after `since`, ms. Missed slots run first.
 */
async function resumed(since: number, where: string): Promise<number> {
  for (;;) {
    const [row] = await system.query<{ at: number | null }>(
      `SELECT min(recorded_at) AS at FROM results
       WHERE slot > ? AND outcome <> 'not_run' AND json_extract(detail, '$.started_at') > ? ${where}`,
      since - 60_000,
      since,
    );
    if (row?.at != null) return row.at - since;
    await delay(50);
  }
}

const cases: Record<string, () => Promise<number>> = {
  agent: async () => {
    await system.agent(region).end('SIGKILL');
    await delay(3_000);
    const since = Date.now();
    await system.agent(region).start();
    return resumed(since, `AND region = '${region}'`);
  },
  coordinator: async () => {
    await system.coordinator.end('SIGKILL');
    await delay(3_000);
    const since = Date.now();
    await system.coordinator.start();
    // Checks that agents had begun before do not count.
    return resumed(since + (HEARD_MS - 100), '').then((ms) => ms + HEARD_MS - 100);
  },
  NATS: async () => {
    await system.nats.kill();
    await delay(3_000);
    const since = Date.now();
    await system.nats.restart();
    return resumed(since, '');
  },
};

try {
  await delay(untilAllAreCheckedMs(MONITORS));
  const rows: string[][] = [];
  for (const [name, run] of Object.entries(cases)) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      times.push(await run());
      await delay(3_000);
    }
    rows.push([name, median(times).toFixed(0), Math.max(...times).toFixed(0)]);
  }
  console.log(formatTable(['killed', 'checks go on after, ms (median)', 'worst'], rows));
} finally {
  await system.dispose();
  await children.endAll();
}
