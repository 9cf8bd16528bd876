/** Regions without an agent: they abstain, and what they said last ages out. */
import type { Region } from '@svc/shared/regions.ts';
import { describe, expect, test } from 'vitest';
import type { LocalService } from '../support/local-service.ts';
import { openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';

const WITH_AGENTS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const NEVER_THERE: Region = 'hosta-ams';
const TIMEOUT = { timeout: 60_000 };

type Absence = { region: string; started_at: number; ended_at: number | null };
const absences = (service: LocalService) =>
  service.query<Absence>('SELECT region, started_at, ended_at FROM region_absences ORDER BY region, id');

const rowsOf = (service: LocalService, region: Region, after: number) =>
  service.query('SELECT slot, outcome FROM results WHERE region = ? AND slot > ?', region, after);

describe.concurrent('a region without an agent', () => {
  test(
    'abstains with one interval and no row per slot, its vote ages out, with too few votes left: unknown',
    TIMEOUT,
    async (context) => {
      const opened = openedIn(context);
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
          svc_notification: {
            hook: {
              provider_type: 'webhook',
              webhook: { endpoint: hook.url },
              monitor_ids: [`\${svc_http_monitor.web.id}`],
            },
          },
        },
      });
      await service.changed('Web', 'active');
      const id = service.idOf('Web');
      await service.until(() => absences(service).length === 1);
      expect(absences(service)).toEqual([
        { region: NEVER_THERE, started_at: expect.any(Number), ended_at: null },
      ]);

      const votes = async () => {
        const { regions_status } = await service.get<{
          regions_status: { region: string; vote: string; age_ms: number }[];
        }>(`/v1/monitors/${id}`);
        return new Map(regions_status.map(({ region, age_ms }) => [region, age_ms]));
      };
      const seen = service.transitions.length;
      await service.stopAgent('hosta-fra');
      await service.until(() => absences(service).length === 2);
      const lostAt = Math.max(
        ...service.query<{ slot: number }>('SELECT slot FROM results').map(({ slot }) => slot),
      );
      // Aged out after three periods; two of three votes are a quorum.
      await service.until(async () => ((await votes()).get('hosta-fra') ?? 0) > 90_000);
      await service.decided(id, 1);
      expect(service.transitions.slice(seen)).toEqual([]);
      expect(rowsOf(service, 'hosta-fra', lostAt)).toEqual([]);
      expect(rowsOf(service, NEVER_THERE, 0)).toEqual([]);
      expect(absences(service).map(({ region, ended_at }) => [region, ended_at])).toEqual([
        [NEVER_THERE, null],
        ['hosta-fra', null],
      ]);

      // The third has a fault of its own and is alone.
      web.answerWith((response) => {
        response.statusCode = 500;
        response.end();
      });
      await service.stopAgent('hostb-par');
      expect(await service.changed('Web', 'unknown', seen)).toMatchObject({ from: 'active' });
      await service.decided(id, 2);
      expect(hook.requests).toHaveLength(0);
      expect(service.warnings.some(({ msg }) => msg.includes('lost its last agent'))).toBe(true);

      web.answerWith((response) => response.end('ok'));
      await service.startAgent('hosta-fra');
      await service.startAgent('hostb-par');
      await service.changed('Web', 'active', seen);
      await service.until(() =>
        absences(service).every(({ region, ended_at }) => region === NEVER_THERE || ended_at !== null),
      );
      expect(absences(service)).toHaveLength(3);
      expect(hook.requests).toHaveLength(0);
    },
  );

  test(
    'and no other: the monitor waits as unknown and is checked as soon as an agent comes',
    TIMEOUT,
    async (context) => {
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
      await service.until(() => absences(service).length === 1);
      expect(service.query('SELECT * FROM results')).toEqual([]);
      expect(service.query("SELECT * FROM monitor_states WHERE status <> 'unknown'")).toEqual([]);
      await service.startAgent('hosta-fra');
      await Promise.all(['Web', 'Anywhere'].map((name) => service.changed(name, 'active')));
      expect(service.query("SELECT * FROM results WHERE outcome <> 'passed'")).toEqual([]);
      await service.until(() => absences(service).every(({ ended_at }) => ended_at !== null));
    },
  );
});
