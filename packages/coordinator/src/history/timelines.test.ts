import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { liveMonitor, Recording } from '../../../../test/support/coordinator/recording.ts';
import { insertWindow } from '../store/incidents/maintenance-windows.ts';
import { mergeSpans, type Occurrence, type WindowTimes } from '../verdict/maintenance-window.ts';
import { MONITOR_STATUSES, type MonitorStatus } from '../verdict/monitor.ts';
import { DAY_MS, HOUR_MS } from '../verdict/summary-range.ts';
import {
  addTimes,
  NO_TIMES,
  type StatusTimes,
  timesBetween,
  uptimePercent,
  withMaintenance,
  worstStatus,
} from '../verdict/uptime.ts';
import { dailyTimes } from './status-times.ts';

type Timeline = {
  readonly name: string;
  /** The first day, in UTC. */
  readonly begins: string;
  /** Days until now; the last one may be in progress. */
  readonly days: number;
  /** Changes of status, in hours after the beginning. */
  readonly changes: readonly (readonly [hours: number, status: MonitorStatus])[];
  readonly windows?: readonly WindowTimes[];
  /** One letter for each day, by its worst status: E, D, A, or U for unknown. */
  readonly bars: string;
  /** Uptime of each day and of all days together, percent; null: no data. */
  readonly daily: readonly (number | null)[];
  readonly uptime: number | null;
};

const once = (startsAt: string, hours: number): WindowTimes => ({
  startsAt: Date.parse(startsAt),
  endsAt: Date.parse(startsAt) + hours * HOUR_MS,
  timeZone: 'UTC',
  repeat: null,
  endedAt: null,
});

/** From 02:00 to 04:00 each day in Berlin. */
const NIGHTLY_IN_BERLIN: WindowTimes = {
  startsAt: Date.parse('2026-03-28T02:00:00+01:00'),
  endsAt: Date.parse('2026-03-28T04:00:00+01:00'),
  timeZone: 'Europe/Berlin',
  repeat: { frequency: 'daily', interval: 1, weekdays: [], week: null, until: null },
  endedAt: null,
};

const TIMELINES: readonly Timeline[] = [
  {
    name: 'a new monitor has data from its first verdict on',
    ...{ begins: '2026-05-01', days: 3 },
    changes: [[42, 'active']],
    ...{ bars: 'UAA', daily: [null, 100, 100], uptime: 100 },
  },
  {
    name: 'an outage of six hours over midnight',
    ...{ begins: '2026-05-01', days: 3 },
    changes: [
      [0, 'active'],
      [20, 'error'],
      [26, 'active'],
    ],
    // 20/24, 22/24, 66/72.
    ...{ bars: 'EEA', daily: [83.33, 91.66, 100], uptime: 91.66 },
  },
  {
    name: 'a gap without votes is no data, and counts in neither part',
    ...{ begins: '2026-05-01', days: 2 },
    changes: [
      [0, 'active'],
      [6, 'unknown'],
      [18, 'error'],
      [24, 'active'],
    ],
    // 6 of 12 known hours; 30 of 36.
    ...{ bars: 'EA', daily: [50, 100], uptime: 83.33 },
  },
  {
    name: 'a day without any data between others',
    ...{ begins: '2026-05-01', days: 3 },
    changes: [
      [0, 'active'],
      [24, 'unknown'],
      [48, 'error'],
      [60, 'active'],
    ],
    ...{ bars: 'AUE', daily: [100, null, 50], uptime: 75 },
  },
  {
    name: 'flaps of a minute each quarter of an hour',
    ...{ begins: '2026-05-01', days: 1 },
    changes: Array.from({ length: 96 }, (_, index): [number, MonitorStatus][] => [
      [index / 4, 'error'],
      [index / 4 + 1 / 60, 'active'],
    ]).flat(),
    // 96 minutes of 1,440.
    ...{ bars: 'E', daily: [93.33], uptime: 93.33 },
  },
  {
    name: 'a millisecond of error is never 100 %',
    ...{ begins: '2026-05-01', days: 2 },
    changes: [
      [0, 'active'],
      [12, 'error'],
      [12 + 1 / HOUR_MS, 'active'],
    ],
    ...{ bars: 'EA', daily: [99.99, 100], uptime: 99.99 },
  },
  {
    name: 'degraded is up, and shown',
    ...{ begins: '2026-05-01', days: 2 },
    changes: [
      [0, 'active'],
      [6, 'degraded'],
      [12, 'error'],
      [18, 'degraded'],
      [24, 'active'],
    ],
    ...{ bars: 'EA', daily: [75, 100], uptime: 87.5 },
  },
  {
    name: 'degraded alone',
    ...{ begins: '2026-05-01', days: 2 },
    changes: [
      [0, 'degraded'],
      [36, 'active'],
    ],
    ...{ bars: 'DD', daily: [100, 100], uptime: 100 },
  },
  {
    name: 'a paused monitor has no data until its next verdict',
    ...{ begins: '2026-05-01', days: 3 },
    // The monitor is deactivated during an outage and activated a day later. Its first status comes a minute
    // after that.
    changes: [
      [0, 'active'],
      [12, 'error'],
      [18, 'unknown'],
      [42 + 1 / 60, 'active'],
    ],
    // 12 of 18; 12 + 5:59 + 24 of 18 + 5:59 + 24.
    ...{ bars: 'EAA', daily: [66.66, 100, 100], uptime: 87.49 },
  },
  {
    name: 'an outage in maintenance does not count',
    ...{ begins: '2026-05-01', days: 2 },
    changes: [
      [0, 'active'],
      [10, 'error'],
      [12, 'active'],
    ],
    windows: [once('2026-05-01T09:00:00Z', 4)],
    ...{ bars: 'AA', daily: [100, 100], uptime: 100 },
  },
  {
    name: 'an outage that outlasts its maintenance counts from its end',
    ...{ begins: '2026-05-01', days: 1 },
    changes: [
      [0, 'active'],
      [10, 'error'],
      [14, 'active'],
    ],
    windows: [once('2026-05-01T09:00:00Z', 3)],
    // 19 of 21 hours.
    ...{ bars: 'E', daily: [90.47], uptime: 90.47 },
  },
  {
    name: 'windows that overlap count once',
    ...{ begins: '2026-05-01', days: 1 },
    changes: [
      [0, 'active'],
      [12, 'error'],
      [18, 'active'],
    ],
    windows: [
      once('2026-05-01T11:00:00Z', 3),
      once('2026-05-01T13:00:00Z', 2),
      once('2026-05-01T13:30:00Z', 1),
    ],
    // 11:00 to 15:00 does not count: 17 of 20 hours.
    ...{ bars: 'E', daily: [85], uptime: 85 },
  },
  {
    name: 'a whole day of maintenance is no data',
    ...{ begins: '2026-05-01', days: 3 },
    changes: [
      [0, 'active'],
      [30, 'error'],
      [50, 'active'],
    ],
    windows: [once('2026-05-02T00:00:00Z', 24)],
    // Two hours of error are left on the third day.
    ...{ bars: 'AUE', daily: [100, null, 91.66], uptime: 95.83 },
  },
  {
    name: 'a window over the change of the clocks is an hour shorter',
    ...{ begins: '2026-03-28', days: 3 },
    // Down from 00:00 to 03:00 UTC on each day.
    changes: [
      [0, 'error'],
      [3, 'active'],
      [24, 'error'],
      [27, 'active'],
      [48, 'error'],
      [51, 'active'],
    ],
    windows: [NIGHTLY_IN_BERLIN],
    // Down outside of windows: 1 of 22 h (without 01-03), 2 of 23 h (without 01-02), 1 of 22 h (without
    // 00-02).
    ...{ bars: 'EEE', daily: [95.45, 91.3, 95.45], uptime: 94.02 },
  },
  {
    name: 'the leap day is a day like others',
    ...{ begins: '2028-02-28', days: 3 },
    changes: [
      [0, 'active'],
      [24, 'error'],
      [30, 'active'],
    ],
    ...{ bars: 'AEA', daily: [100, 75, 100], uptime: 91.66 },
  },
  {
    name: 'after the clock was set back, changes of one instant count as the last of them',
    ...{ begins: '2026-05-01', days: 1 },
    changes: [
      [0, 'active'],
      [6, 'error'],
      [6, 'degraded'],
      [6, 'active'],
      [12, 'error'],
    ],
    ...{ bars: 'E', daily: [50], uptime: 50 },
  },
  {
    name: 'today counts until now',
    ...{ begins: '2026-05-01', days: 1.5 },
    changes: [
      [0, 'active'],
      [30, 'error'],
    ],
    ...{ bars: 'AE', daily: [100, 50], uptime: 83.33 },
  },
];

let recording: Recording;
beforeAll(async () => {
  recording = await Recording.open();
  await recording.declare(liveMonitor(1));
});
afterAll(() => recording.dispose());
beforeEach(async () => {
  for (const table of ['transitions', 'maintenance_monitors', 'maintenance_windows'])
    await recording.store.commit([{ sql: `DELETE FROM ${table}`, rows: [[]] }]);
});

async function timesOf({ begins, days, changes, windows = [] }: Timeline): Promise<readonly StatusTimes[]> {
  const begin = Date.parse(`${begins}T00:00:00Z`);
  await recording.store.transaction(async (tx) => {
    await tx.runEach(
      `INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, votes) VALUES (1, 'x', ?, 'x', ?, '[]')`,
      changes.map(([hours, status]) => [status, Math.round(begin + hours * HOUR_MS)]),
    );
    for (const { endedAt: _, ...times } of windows) {
      const content = { ...times, title: 'Work', text: '', monitorIds: [1], pageIds: [], componentIds: [] };
      await insertWindow(tx, 1, content, begin);
    }
  });
  // At midnight another day has begun. It has no time yet.
  const found = await dailyTimes(recording.store, [1], Math.floor(days) + 1, begin + days * DAY_MS);
  return (found.get(1) ?? []).map(({ times }) => times).filter((times) => lengthOf(times) > 0);
}

const LETTER: Readonly<Record<MonitorStatus, string>> = {
  active: 'A',
  degraded: 'D',
  error: 'E',
  unknown: 'U',
};

describe('the uptime of a timeline', () => {
  test.each(TIMELINES.map((timeline) => [timeline.name, timeline] as const))(
    '%s',
    async (_name, timeline) => {
      const days = await timesOf(timeline);
      expect({
        bars: days.map((times) => LETTER[worstStatus(times)]).join(''),
        daily: days.map(uptimePercent),
        uptime: uptimePercent(days.reduce(addTimes, NO_TIMES)),
      }).toEqual({ bars: timeline.bars, daily: timeline.daily, uptime: timeline.uptime });
      // The parts of each full day add up.
      for (const times of days.slice(0, -1)) expect(lengthOf(times)).toBe(DAY_MS);
    },
  );
});

function lengthOf({ active, degraded, error, unknown, maintenance }: StatusTimes): number {
  return active + degraded + error + unknown + maintenance;
}

const instant = fc.integer({ min: 0, max: 500 });
const spans = fc.array(
  fc
    .tuple(instant, fc.integer({ min: 1, max: 100 }))
    .map(([from, length]): Occurrence => ({ from, until: from + length })),
  { maxLength: 12 },
);
const histories = fc
  .array(fc.record({ at: instant, status: fc.constantFrom(...MONITOR_STATUSES) }), { maxLength: 20 })
  .map((list) => list.toSorted((a, b) => a.at - b.at));

describe('whatever the windows and changes are', () => {
  test('merged spans never overlap or touch, and cover the same instants', () => {
    fc.assert(
      fc.property(spans, (given) => {
        const found = mergeSpans(given);
        for (const [index, { from, until }] of found.entries()) {
          expect(from).toBeLessThan(until);
          expect(from).toBeGreaterThan(found[index - 1]?.until ?? -1);
        }
        const wrong: number[] = [];
        for (let at = 0; at < 620; at += 1) {
          const covers = ({ from, until }: Occurrence) => from <= at && at < until;
          if (found.filter(covers).length !== (given.some(covers) ? 1 : 0)) wrong.push(at);
        }
        expect(wrong).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  test('for each status, the times in maintenance and outside add up to the whole time', () => {
    fc.assert(
      fc.property(histories, spans, (history, windows) => {
        const [whole = NO_TIMES] = timesBetween(history, [0, 700]);
        const inside = mergeSpans(windows)
          .map(({ from, until }) => timesBetween(history, [from, until])[0] ?? NO_TIMES)
          .reduce(addTimes, NO_TIMES);
        const split = withMaintenance(whole, inside);
        expect(lengthOf(split)).toBe(700);
        expect(split.maintenance).toBe(lengthOf(inside));
        for (const status of MONITOR_STATUSES) expect(split[status] + inside[status]).toBe(whole[status]);
      }),
    );
  });
});
