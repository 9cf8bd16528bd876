import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';
import { addRows } from '../../../../../test/support/store-rows.ts';
import { fromFirstData } from './charts.ts';
import { figuresOf, firstDataAt } from './monitor-pages.ts';

const HOUR_MS = 3_600_000;

/** The ranges of a monitor that has had data for this time until now, ms. */
function rangesAfter(ms: number) {
  const lengths = { '24h': 24, '7d': 168, '30d': 720, '90d': 2_160 } as const;
  return (['24h', '7d', '30d', '90d'] as const).map((range) => {
    const active = Math.min(ms, lengths[range] * HOUR_MS);
    const time = {
      active,
      degraded: 0,
      error: 0,
      maintenance: 0,
      unknown: lengths[range] * HOUR_MS - active,
    };
    return { range, from: 0, uptime: ms === 0 ? null : 100, time };
  });
}
const labels = (ms: number, since: string | null) =>
  figuresOf(rangesAfter(ms), since).map(({ label }) => String(label));

describe('the uptime of a young monitor', () => {
  test('is shown once, with the day on which its data began', () => {
    expect(labels(2 * HOUR_MS, 'today')).toEqual(['Since today']);
    expect(labels(72 * HOUR_MS, 'Thu, 26 Nov 2026')).toEqual(['24 hours', 'Since Thu, 26 Nov 2026']);
  });

  test('is shown for each range that is longer than another', () => {
    expect(labels(40 * 24 * HOUR_MS, 'a day')).toEqual(['24 hours', '7 days', '30 days', '90 days']);
    expect(labels(90 * 24 * HOUR_MS, 'a day')).toEqual(['24 hours', '7 days', '30 days', '90 days']);
  });

  test('without data is one range', () => expect(labels(0, null)).toEqual(['24 hours']));
});

describe('a chart begins', () => {
  const buckets = Array.from({ length: 40 }, (_, at) => ({ at }));
  const columns = (first: number) => fromFirstData(buckets, ({ at }) => at >= first).map(({ at }) => at);

  test('with its first data', () => expect(columns(15)).toEqual(buckets.slice(15).map(({ at }) => at)));
  test('with twelve columns at least', () => expect(columns(38)).toHaveLength(12));
  test('with its range, where there is no data', () => expect(columns(99)).toHaveLength(40));
});

describe('the data of a monitor began', () => {
  const MIDNIGHT = Date.UTC(2026, 10, 29);
  /** The last 90 days at this instant, of a monitor that has had data since another one. */
  const daysOf = (begun: number, now: number) =>
    Array.from({ length: 90 }, (_, index) => {
      const at = MIDNIGHT + (index - 89) * 24 * HOUR_MS;
      const active = Math.max(0, Math.min(now, at + 24 * HOUR_MS) - Math.max(at, begun));
      return { at, time: { active, degraded: 0, error: 0, maintenance: 0, unknown: 0 } };
    });

  test.each([
    ['today', 9 * HOUR_MS, 10 * HOUR_MS],
    ['before midnight, a few minutes ago', -0.1 * HOUR_MS, 0.1 * HOUR_MS],
    ['at midnight', 0, 0.1 * HOUR_MS],
    ['two days ago', -39 * HOUR_MS, 9 * HOUR_MS],
  ])('%s', (_, begun, now) => {
    expect(firstDataAt(daysOf(MIDNIGHT + begun, MIDNIGHT + now), MIDNIGHT + now)).toBe(MIDNIGHT + begun);
  });

  test('never', () => expect(firstDataAt(daysOf(MIDNIGHT, MIDNIGHT), MIDNIGHT)).toBeNull());
});

describe('a monitor that was made ten minutes before midnight', () => {
  let api: RunningApi;
  let session: DashboardSession;
  beforeAll(async () => {
    api = await startApi();
    session = await DashboardSession.open(api);
    api.clock.advance(HOUR_MS * 24 - (api.clock.wall() % (HOUR_MS * 24)) - HOUR_MS / 6);
    const monitor = { type: 'tcp', name: 'Mail', uri: 'mail.example:25', periodicity: '1m' };
    const id = Number(await api.create('/v1/monitors', monitor));
    const at = api.clock.wall();
    await addRows(api.store, 'transitions', {
      ...{ monitor_id: id, from_status: 'unknown', to_status: 'active', at, slot: at, votes: '[]' },
      ...{ reason: 'all-passed', incident: null, until: null, slots: null },
    });
    const state = { status: 'active' as const, since: at, incident: null, reason: null, version: null };
    await addRows(api.store, 'monitor_states', { monitor_id: id, ...state });
  });
  afterAll(() => api.dispose());

  const plain = (text: string) => text.replaceAll(/<[^>]+>/g, '');
  /** The figures of the monitor's page, and what the list says of 90 days. */
  const shown = async () => {
    const { text } = await session.get('/monitors/1');
    const figures = /<dl id="uptime-figures"[^>]*>(.*?)<\/dl>/s.exec(text)?.[1] ?? '';
    const [, ofList = ''] = /data-label="90 days">(.*?)<\/td>/s.exec((await session.get('/')).text) ?? [];
    return [
      ...[...figures.matchAll(/<dt>(.*?)<\/dt>/g)].map(([, label = '']) => plain(label)),
      plain(ofList),
    ];
  };

  // The clock goes on from one case to the next.
  test.each([
    ['five minutes later', HOUR_MS / 12, ['Since today', 'since today']],
    ['after midnight', HOUR_MS / 6, ['Since 1 Jan 2026', 'since 1 Jan 2026']],
    ['two days later', 48 * HOUR_MS, ['24 hours', 'Since 1 Jan 2026', '100.00%']],
  ])('has had data since that day, %s', async (_, ms, expected) => {
    api.clock.advance(ms);
    expect(await shown()).toEqual(expected);
  });
});
