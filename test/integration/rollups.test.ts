/** A summary is the same before its results are rolled up, afterwards, and after a restart. */
import type { SummaryView } from '@svc/coordinator/api/routes/summary.ts';
import type { Region } from '@svc/shared/regions.ts';
import { expect, test } from 'vitest';
import type { LocalService } from '../support/local-service.ts';
import { openedIn, serviceIn, targetIn } from '../support/opened.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const MINUTE_MS = 60_000;

async function expectAllCounted(service: LocalService, id: number, hour: number): Promise<void> {
  const counted = async () => {
    const { series, regions } = await service.get<SummaryView>(`/v1/monitors/${id}/summary?range=24h`);
    const bucket = series.find(({ at }) => at === hour);
    return {
      passed: bucket?.results.passed,
      status: bucket?.status,
      regions: regions.map(({ region }) => region),
    };
  };
  const stored = await service.query<{ passed: number }>(
    "SELECT count(*) AS passed FROM results WHERE outcome = 'passed' AND slot >= ? AND slot < ?",
    hour,
    hour + 60 * MINUTE_MS,
  );
  expect(await counted()).toEqual({ passed: stored[0]?.passed, status: 'active', regions: REGIONS });
}

test('an hour is rolled up when it is over, and nothing is counted twice', async (context) => {
  const opened = openedIn(context);
  const web = await targetIn(opened);
  const service = await serviceIn(opened, {
    regions: REGIONS,
    scale: 20,
    declared: {
      svc_http_monitor: {
        web: { name: 'Web', url: web.url, periodicity: '30s', active: true, retry: 0, regions: REGIONS },
      },
    },
  });
  await service.changed('Web', 'active');
  const id = await service.idOf('Web');
  await service.decided(id, 2);
  const [first] = await service.query<{ hour: number }>(
    'SELECT min(slot) - min(slot) % 3600000 AS hour FROM results',
  );
  const hour = first?.hour ?? 0;

  service.clock.stepWall(70 * MINUTE_MS);
  await service.decided(id, 3);
  await expectAllCounted(service, id, hour);
  const rolledUp = () => service.query('SELECT region FROM rollup_hours WHERE at = ? ORDER BY region', hour);
  await service.until(async () => (await rolledUp()).length === REGIONS.length);
  await expectAllCounted(service, id, hour);
  await service.until(async () => (await service.metric('svc_rollups_behind_seconds')) === 0);

  await service.stopCoordinator();
  await service.startCoordinator();
  await service.decided(id, 1);
  await expectAllCounted(service, id, hour);
  expect(await rolledUp()).toHaveLength(REGIONS.length);
});
