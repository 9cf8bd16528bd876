/**
 * A real VictoriaMetrics gets the points that the stored results imply, although the coordinator is killed
 * again and again and another endpoint answers at one byte a second.
 */
import type { Region } from '@svc/shared/regions.ts';
import { expect, test } from 'vitest';
import { allRecorded } from '../support/all-recorded.ts';
import { openedIn, targetIn } from '../support/opened.ts';
import { drip, startRawTarget } from '../support/raw-target.ts';
import { System } from '../support/system.ts';
import { skipsVictoriaMetrics, victoriaMetricsIn } from '../support/victoria-metrics.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par'];
const MONITORS = 300;
/** Number of monitors whose metrics go to the slow endpoint. */
const DRIPPING = 30;
const KILLS = 4;
/** New results between two kills. */
const BETWEEN = 100;
const SECOND_MS = 1_000;

test.skipIf(skipsVictoriaMetrics)(
  'VictoriaMetrics has each check once after kill -9 of the coordinator, beside an endpoint that drips',
  async (context) => {
    const opened = openedIn(context);
    const database = await victoriaMetricsIn(opened, context);
    const dripping = await startRawTarget(
      drip('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n', 'a', SECOND_MS),
    );
    opened.push(dripping);
    const web = await targetIn(opened);
    const system = await System.start({
      regions: REGIONS,
      declared: declaration(web.url, `http://127.0.0.1:${dripping.port}`),
      environment: {
        OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: database.endpoint,
        OTEL_METRIC_EXPORT_INTERVAL: '1000',
      },
    });
    opened.push({ close: () => system.dispose() });
    const stored = async (where = 'true') =>
      (
        await system.query<{ count: number }>(
          `SELECT count(*) AS count FROM results JOIN monitors ON monitors.id = monitor_id WHERE outcome <> 'not_run' AND ${where}`,
        )
      )[0]?.count ?? 0;
    const until = (count: number) =>
      expect.poll(() => stored(), { interval: 100 }).toBeGreaterThanOrEqual(count);

    await until(BETWEEN);
    for (let kill = 0; kill < KILLS; kill += 1) {
      await system.coordinator.end('SIGKILL');
      await system.coordinator.start();
      await until((await stored()) + BETWEEN);
    }
    type Endpoint = { default: boolean; failing: boolean; points_dropped: number };
    const endpoints = async () =>
      (await system.get<{ export: { endpoints: Endpoint[] } }>('/v1/system')).export.endpoints;
    // The first request after a start is JSON, which VictoriaMetrics refuses. It is sent again as protobuf.
    await expect
      .poll(async () => (await endpoints()).find((endpoint) => endpoint.default))
      .toMatchObject({ failing: false, points_dropped: 0 });
    expect((await endpoints()).filter((endpoint) => !endpoint.default)).toHaveLength(1);

    // No further results come, and each stored result has been counted once.
    for (const agent of system.agents.values()) await agent.end('SIGTERM');
    await allRecorded(system);
    const toDatabase = `name NOT LIKE 'Dripping%'`;
    const total = async () =>
      (await database.query('sum(last_over_time(svc_checks_total[1h]))'))[0]?.value ?? 0;
    await expect.poll(total, { interval: 500 }).toBe(await stored(toDatabase));
    // VictoriaMetrics need not show all rows of a request at one moment.
    const durations = async () =>
      (await database.query('sum(last_over_time(svc_check_duration_seconds_count[1h]))'))[0]?.value ?? 0;
    await expect.poll(durations, { interval: 500 }).toBe(await stored(toDatabase));
    // A count that fell would be taken for a reset, and its results would be counted twice.
    expect((await database.query('max(resets(svc_checks_total[1h]))'))[0]?.value).toBe(0);
    // Monitors of the slow endpoint are checked like others: each has a first result.
    const checked = await system.query<{ count: number }>(
      `SELECT count(DISTINCT monitor_id) AS count FROM results JOIN monitors ON monitors.id = monitor_id WHERE name LIKE 'Dripping%'`,
    );
    expect(checked[0]?.count).toBe(DRIPPING);
  },
);

function declaration(url: string, drippingEndpoint: string): object {
  const named = (name: string, count: number, more: object) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `${name.toLowerCase()}${index}`,
        { name: `${name} ${index}`, url, periodicity: '30s', active: true, regions: REGIONS, ...more },
      ]),
    );
  return {
    svc_http_monitor: {
      ...named('Plain', MONITORS - DRIPPING, {}),
      ...named('Dripping', DRIPPING, { otlp_endpoint: drippingEndpoint }),
    },
  };
}
