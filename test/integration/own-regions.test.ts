/**
 * An operator's own regions are checked, shown, kept over restarts, and not taken away while monitors name
 * them.
 */
import type { SummaryView } from '@svc/coordinator/api/routes/summary.ts';
import type { OwnRegion } from '@svc/shared/regions.ts';
import { expect, test } from 'vitest';
import type { LocalService, Warning } from '../support/local-service.ts';
import { openedIn, serviceIn, targetIn } from '../support/opened.ts';

const OFFICE: OwnRegion = { id: 'office-berlin', name: 'Berlin office' };
const CENTRE: OwnRegion = { id: 'dc-2', name: null };
const REGIONS = ['hosta-fra', 'dc-2', 'office-berlin'];
const MINUTE_MS = 60_000;

type Answer = {
  status: number;
  body: { data?: { region: string; name: string | null }[]; errors?: { pointer: string; message: string }[] };
};

async function call(service: LocalService, method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const regionsWithResults = async (service: LocalService, id: number) =>
  (await service.get<SummaryView>(`/v1/monitors/${id}/summary?range=24h`)).regions.map(
    ({ region }) => region,
  );

const isAboutOtherRegions = ({ msg }: Warning) => msg.includes('SVC_EXTRA_REGIONS');

test('monitors are checked from own regions, whose results stay when the setting changes', async (context) => {
  const opened = openedIn(context);
  const web = await targetIn(opened);
  const monitor = { name: 'Web', url: web.url, periodicity: '30s', active: true, retry: 0 };
  const service = await serviceIn(opened, {
    regions: REGIONS,
    extraRegions: [OFFICE, CENTRE],
    declared: { svc_http_monitor: { web: { ...monitor, regions: REGIONS } } },
  });
  await service.changed('Web', 'active');
  const id = await service.idOf('Web');
  await service.decided(id, 2);
  expect(await regionsWithResults(service, id)).toEqual(REGIONS);

  const listed = (await call(service, 'GET', '/v1/regions')).body.data ?? [];
  expect(listed.slice(28).map(({ region, name }) => [region, name])).toEqual([
    ['dc-2', null],
    ['office-berlin', 'Berlin office'],
  ]);
  const wrong = { ...monitor, type: 'http', name: 'Wrong', regions: ['hosta-fra', 'office-paris'] };
  const refused = await call(service, 'POST', '/v1/monitors', wrong);
  expect(refused.status).toBe(422);
  expect(refused.body.errors?.[0]).toMatchObject({
    pointer: '/regions/1',
    message: '"office-paris" is not a region: did you mean "office-berlin"?',
  });

  await service.stopCoordinator();
  service.extraRegions = [OFFICE];
  await expect(service.startCoordinator()).rejects.toThrow(
    `SVC_EXTRA_REGIONS lacks regions that monitors name: monitor ${id} (Web) names dc-2`,
  );
  service.extraRegions = [OFFICE, CENTRE];
  await service.startCoordinator();
  await service.decided(id, 1);
  await service.declare({
    svc_http_monitor: { web: { ...monitor, regions: ['hosta-fra', 'office-berlin'] } },
  });
  await service.until(async () => {
    const { regions } = await service.get<{ regions: string[] }>(`/v1/monitors/${id}`);
    return regions.length === 2;
  });
  await service.stopCoordinator();

  // The setting now has another order and lacks a region. The numbers of the other regions stay.
  service.extraRegions = [{ id: 'a-later-one', name: null }, OFFICE];
  const before = service.warnings.length;
  await service.startCoordinator();
  await service.decided(id, 2);
  // The agent of the region that was taken away still runs. The coordinator and the agent itself say so.
  const warnings = () => service.warnings.slice(before).filter(isAboutOtherRegions);
  await service.until(() => warnings().length >= 2);
  expect(warnings().map(({ msg, region }) => [msg, region])).toEqual([
    [expect.stringContaining('a region that no coordinator has'), 'dc-2'],
    [expect.stringContaining('correct SVC_REGION'), 'dc-2'],
  ]);
  expect(await regionsWithResults(service, id)).toEqual(REGIONS);
  const outcomes = await service.query<{ region: string }>(
    "SELECT DISTINCT region FROM results WHERE outcome = 'passed' ORDER BY region",
  );
  expect(outcomes.map(({ region }) => region)).toEqual(REGIONS.toSorted());

  // Roll-ups contain own regions, also the region that the setting no longer has.
  service.clock.stepWall(70 * MINUTE_MS);
  await service.decided(id, 1);
  const rolledUp = () =>
    service.query<{ region: string }>('SELECT DISTINCT region FROM rollup_hours ORDER BY region');
  await service.until(async () => (await rolledUp()).length === REGIONS.length);
  expect((await rolledUp()).map(({ region }) => region)).toEqual(REGIONS.toSorted());
});

test('a declared file that names a region which the installation lacks is refused with its place', async (context) => {
  const opened = openedIn(context);
  const monitor = { name: 'Web', uri: 'example.com:443', periodicity: '30s', regions: ['office-berlin'] };
  await expect(
    serviceIn(opened, { regions: [], declared: { svc_tcp_monitor: { web: monitor } } }),
  ).rejects.toThrow(
    'regions.0: "office-berlin" is not a region: see GET /v1/regions; SVC_EXTRA_REGIONS of the coordinator adds your own',
  );
});
