/** Regions without an agent abstain, and their last votes age out. */
import type { Region } from '@svc/shared/regions.ts';
import { describe, expect, test } from 'vitest';
import type { LocalService } from '../support/local-service.ts';
import { hookOf, type Opened, openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';

const WITH_AGENTS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const NEVER_THERE: Region = 'hosta-ams';

async function start(opened: Opened) {
  const web = await targetIn(opened);
  const hook = await receiverIn(opened);
  const service = await serviceIn(opened, {
    regions: WITH_AGENTS,
    declared: {
      svc_http_monitor: {
        web: {
          name: 'Web',
          url: web.url,
          periodicity: '30s',
          active: true,
          retry: 0,
          timeout: 5_000,
          regions: [...WITH_AGENTS, NEVER_THERE],
        },
      },
      svc_notification: { hook: hookOf(hook, 'svc_http_monitor.web') },
    },
  });
  await service.changed('Web', 'active');
  return { web, hook, service, id: await service.idOf('Web') };
}

type Absence = { region: string; ended_at: number | null };

/** Regions without an agent that takes jobs, according to the API, each with the instant since when. */
async function absentSince(service: LocalService): Promise<Record<string, number>> {
  const { data } = await service.get<{ data: { region: string; absent_since: number | null }[] }>(
    '/v1/regions',
  );
  return Object.fromEntries(
    data.flatMap(({ region, absent_since: at }) => (at === null ? [] : [[region, at]])),
  );
}

const absences = (service: LocalService) =>
  service.query<Absence>('SELECT region, ended_at FROM region_absences ORDER BY region, id');

const slotsOf = async (service: LocalService, region: Region) =>
  (await service.query<{ slot: number }>('SELECT slot FROM results WHERE region = ?', region)).map(
    ({ slot }) => slot,
  );

/** Ages of the votes by region, ms. */
async function votes(service: LocalService, id: number): Promise<Map<string, number>> {
  const { regions_status } = await service.get<{ regions_status: { region: string; age_ms: number }[] }>(
    `/v1/monitors/${id}`,
  );
  return new Map(regions_status.map(({ region, age_ms }) => [region, age_ms]));
}

describe.concurrent('a region without an agent', () => {
  test('abstains: one interval, no row per slot, and its vote ages out', async (context) => {
    const { hook, service, id } = await start(openedIn(context));
    await service.until(async () => (await absences(service)).length === 1);
    expect(await absences(service)).toEqual([{ region: NEVER_THERE, ended_at: null }]);

    const seen = service.transitions.length;
    await service.stopAgent('hosta-fra');
    await service.until(async () => (await absences(service)).length === 2);
    expect(await absentSince(service)).toEqual(
      Object.fromEntries(
        (
          await service.query<{ region: string; started_at: number }>(
            'SELECT region, started_at FROM region_absences',
          )
        ).map(({ region, started_at: at }) => [region, at]),
      ),
    );
    // The last message of the agent may still be under way.
    await service.decided(id, 1);
    const reported = await slotsOf(service, 'hosta-fra');
    // The vote has aged out after three periods. The two votes that are left are half of the four regions,
    // which is enough for a status.
    await service.until(async () => ((await votes(service, id)).get('hosta-fra') ?? 0) > 90_000);
    await service.decided(id, 1);
    expect(await slotsOf(service, 'hosta-fra')).toEqual(reported);
    expect(await slotsOf(service, NEVER_THERE)).toEqual([]);
    expect(service.transitions.slice(seen)).toEqual([]);
    expect((await absences(service)).every(({ ended_at }) => ended_at === null)).toBe(true);

    await service.startAgent('hosta-fra');
    await service.until(async () => (await slotsOf(service, 'hosta-fra')).length > reported.length);
    await service.until(async () => (await absences(service)).some(({ ended_at }) => ended_at !== null));
    expect(await absences(service)).toEqual([
      { region: NEVER_THERE, ended_at: null },
      { region: 'hosta-fra', ended_at: expect.any(Number) },
    ]);
    expect(Object.keys(await absentSince(service))).toEqual([NEVER_THERE]);
    expect(hook.requests).toHaveLength(0);
  });

  test('shows since when, also after a restart of the coordinator', async (context) => {
    const { service } = await start(openedIn(context));
    await service.stopAgent('hosta-fra');
    await service.until(async () => (await absences(service)).length === 2);
    const since = await absentSince(service);
    expect(Object.keys(since)).toEqual([NEVER_THERE, 'hosta-fra']);
    await service.stopCoordinator();
    await service.startCoordinator();
    expect(await absentSince(service)).toMatchObject(since);
    // Until heartbeats of the other regions are read, these count as absent too.
    await service.until(async () => Object.keys(await absentSince(service)).length === 2);
    expect(await absentSince(service)).toEqual(since);

    // No monitor uses any longer the region that never had an agent.
    await service.reload({});
    await service.until(async () => (await absentSince(service))[NEVER_THERE] === undefined);
    expect(await absentSince(service)).toEqual({ 'hosta-fra': since['hosta-fra'] });
  });

  test('and a second one leave too few votes: `unknown`, whatever the third region votes', async (context) => {
    const { web, hook, service, id } = await start(openedIn(context));
    const seen = service.transitions.length;
    await service.stopAgent('hosta-fra');
    await service.stopAgent('hostb-par');
    await service.until(async () => (await absences(service)).length === 3);
    web.answerWith((response) => {
      response.statusCode = 500;
      response.end();
    });
    expect(await service.changed('Web', 'unknown', seen)).toMatchObject({ from: 'active' });
    await service.decided(id, 1);
    expect(service.warnings.some(({ msg }) => msg.includes('lost its last agent'))).toBe(true);
    expect(service.warnings.some(({ msg }) => msg.includes('a monitor has become unknown'))).toBe(true);

    web.answerWith((response) => response.end('ok'));
    await service.startAgent('hosta-fra');
    await service.startAgent('hostb-par');
    await service.changed('Web', 'active', seen);
    expect(service.transitions.slice(seen).map(({ to }) => to)).toEqual(['unknown', 'active']);
    expect(hook.requests).toHaveLength(0);
  });

  test('and no other region with one: monitors stay `unknown`, and are checked as soon as an agent connects', async (context) => {
    const opened = openedIn(context);
    const web = await targetIn(opened);
    const monitor = { name: 'Web', url: web.url, periodicity: '30s', active: true, retry: 0 };
    const service = await serviceIn(opened, {
      regions: [],
      declared: {
        svc_http_monitor: {
          web: { ...monitor, regions: ['hosta-fra'] },
          anywhere: { ...monitor, name: 'Anywhere' },
        },
      },
    });
    await service.until(async () => (await absences(service)).length === 1);
    expect(await service.query('SELECT * FROM results')).toEqual([]);
    expect(await service.query("SELECT * FROM monitor_states WHERE status <> 'unknown'")).toEqual([]);
    await service.startAgent('hosta-fra');
    await Promise.all(['Web', 'Anywhere'].map((name) => service.changed(name, 'active')));
    expect(await service.query("SELECT * FROM results WHERE outcome NOT IN ('passed', 'not_run')")).toEqual(
      [],
    );
    await service.until(async () => (await absences(service)).every(({ ended_at }) => ended_at !== null));
  });
});
