import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { instantOf, isTimeZone, localAt } from './local-time.ts';
import {
  beginsWithItself,
  DraftWindows,
  isDuring,
  type LiveWindow,
  nextOccurrence,
  occurrencesIn,
  overlapsItself,
  type Repetition,
  Windows,
  type WindowTimes,
} from './maintenance-window.ts';

const BERLIN = 'Europe/Berlin';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const at = (text: string) => Date.parse(text);

const DAILY: Repetition = { frequency: 'daily', interval: 1, weekdays: [], week: null, until: null };

function windowOf(
  startsAt: string,
  endsAt: string,
  repeat: Partial<Repetition> | null,
  timeZone = BERLIN,
): WindowTimes {
  const whole = repeat === null ? null : { ...DAILY, ...repeat };
  return { startsAt: at(startsAt), endsAt: at(endsAt), timeZone, repeat: whole, endedAt: null };
}

function shown(times: WindowTimes, from: string, until: string): string[] {
  const text = (instant: number) => new Date(instant).toISOString().slice(0, 16);
  return occurrencesIn(times, at(from), at(until)).map((each) => `${text(each.from)} ${text(each.until)}`);
}

describe('local times', () => {
  test.each([
    ['2026-07-01T12:00Z', BERLIN, '2026-07-01T14:00Z'],
    ['2026-01-01T12:00Z', BERLIN, '2026-01-01T13:00Z'],
    ['2026-01-01T12:00Z', 'Asia/Kathmandu', '2026-01-01T17:45Z'],
    ['1960-06-01T12:00Z', 'UTC', '1960-06-01T12:00Z'],
  ])('%s is in %s %s', (instant, zone, local) => {
    expect(localAt(zone, at(instant))).toBe(at(local));
    expect(instantOf(zone, at(local))).toBe(at(instant));
  });

  test('an hour that clocks skip is read with the offset before it', () => {
    expect(instantOf(BERLIN, at('2026-03-29T02:30Z'))).toBe(at('2026-03-29T03:30+02:00'));
    expect(instantOf('America/New_York', at('2026-03-08T02:30Z'))).toBe(at('2026-03-08T03:30-04:00'));
  });

  test('in an hour that clocks repeat, it is the first instant', () => {
    expect(instantOf(BERLIN, at('2026-10-25T02:30Z'))).toBe(at('2026-10-25T02:30+02:00'));
    expect(instantOf('Australia/Lord_Howe', at('2026-04-05T01:45Z'))).toBe(at('2026-04-05T01:45+11:00'));
  });

  test.each(['Europe/Berlin', 'UTC', 'America/Argentina/Buenos_Aires'])('%s is a zone', (zone) => {
    expect(isTimeZone(zone)).toBe(true);
  });

  test.each(['', 'Berlin/Europe', '+01:00', 'local', '../etc/passwd'])('%j is none', (zone) => {
    expect(isTimeZone(zone)).toBe(false);
  });

  test('every instant outside of a repeated hour is the instant of its local time', () => {
    const zones = [BERLIN, 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'Pacific/Apia'];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: at('2012-01-01'), max: at('2030-01-01') }),
        (zone, instant) => {
          const local = localAt(zone, instant);
          const read = instantOf(zone, local);
          // In an hour that clocks repeat, `read` is the first of the two instants.
          expect(localAt(zone, read)).toBe(local);
          expect(instant - read).toBeGreaterThanOrEqual(0);
          expect(instant - read).toBeLessThanOrEqual(HOUR_MS);
        },
      ),
    );
  });
});

describe('occurrences', () => {
  test('a window that happens once', () => {
    const once = windowOf('2026-11-25T02:00+01:00', '2026-11-25T04:00+01:00', null);
    expect(shown(once, '2026-01-01', '2030-01-01')).toEqual(['2026-11-25T01:00 2026-11-25T03:00']);
    expect(shown(once, '2026-11-25T03:00Z', '2030-01-01')).toEqual([]);
    expect(shown(once, '2026-01-01', '2026-11-25T01:00Z')).toEqual([]);
    expect(isDuring(once, at('2026-11-25T01:00Z'))).toBe(true);
    expect(isDuring(once, at('2026-11-25T03:00Z'))).toBe(false);
  });

  test.each<[string, string, string, Partial<Repetition>, string[]]>([
    [
      'daily over the beginning of summer time: the hour that is skipped is missing',
      '2026-03-28T01:00+01:00',
      '2026-03-28T04:00+01:00',
      {},
      [
        '2026-03-28T00:00 2026-03-28T03:00',
        '2026-03-29T00:00 2026-03-29T02:00',
        '2026-03-29T23:00 2026-03-30T02:00',
      ],
    ],
    [
      'a beginning that clocks skip comes an hour later, and the end stays',
      '2026-03-28T02:00+01:00',
      '2026-03-28T04:00+01:00',
      {},
      [
        '2026-03-28T01:00 2026-03-28T03:00',
        '2026-03-29T01:00 2026-03-29T02:00',
        '2026-03-30T00:00 2026-03-30T02:00',
      ],
    ],
    [
      'an occurrence of which clocks skip everything is as long as the first one',
      '2026-03-28T02:30+01:00',
      '2026-03-28T03:15+01:00',
      {},
      [
        '2026-03-28T01:30 2026-03-28T02:15',
        '2026-03-29T01:30 2026-03-29T02:15',
        '2026-03-30T00:30 2026-03-30T01:15',
      ],
    ],
  ])('%s', (_, startsAt, endsAt, repeat, expected) => {
    expect(shown(windowOf(startsAt, endsAt, repeat), '2026-03-28', '2026-03-30T12:00Z')).toEqual(expected);
  });

  test('daily over the end of summer time: the hour that is repeated belongs to it', () => {
    const daily = windowOf('2026-10-24T02:00+02:00', '2026-10-24T04:00+02:00', {});
    expect(shown(daily, '2026-10-24', '2026-10-27')).toEqual([
      '2026-10-24T00:00 2026-10-24T02:00',
      '2026-10-25T00:00 2026-10-25T03:00',
      '2026-10-26T01:00 2026-10-26T03:00',
    ]);
  });

  test('every third day, over midnight', () => {
    const window = windowOf('2026-11-01T23:00+01:00', '2026-11-02T01:00+01:00', { interval: 3 });
    expect(shown(window, '2026-11-04T22:30Z', '2026-11-09')).toEqual([
      '2026-11-04T22:00 2026-11-05T00:00',
      '2026-11-07T22:00 2026-11-08T00:00',
    ]);
  });

  test('every second week on two days, weeks beginning on Monday', () => {
    const window = windowOf('2026-11-22T10:00Z', '2026-11-22T11:00Z', {
      frequency: 'weekly',
      interval: 2,
      weekdays: ['mon', 'sun'],
    });
    expect(shown(window, '2026-11-01', '2026-12-22')).toEqual([
      '2026-11-22T10:00 2026-11-22T11:00',
      '2026-11-30T10:00 2026-11-30T11:00',
      '2026-12-06T10:00 2026-12-06T11:00',
      '2026-12-14T10:00 2026-12-14T11:00',
      '2026-12-20T10:00 2026-12-20T11:00',
    ]);
  });

  test('monthly on a day leaves out the months without it', () => {
    const window = windowOf('2026-12-31T10:00Z', '2026-12-31T11:00Z', { frequency: 'monthly' }, 'UTC');
    expect(shown(window, '2026-12-01', '2027-06-15')).toEqual([
      '2026-12-31T10:00 2026-12-31T11:00',
      '2027-01-31T10:00 2027-01-31T11:00',
      '2027-03-31T10:00 2027-03-31T11:00',
      '2027-05-31T10:00 2027-05-31T11:00',
    ]);
  });

  test.each<[string, number, string, string[]]>([
    ['the second Tuesday', 2, '2026-11-10', ['2026-11-10', '2026-12-08', '2027-01-12']],
    ['the last Tuesday', -1, '2026-11-24', ['2026-11-24', '2026-12-29', '2027-01-26']],
  ])('monthly on %s', (_, week, first, days) => {
    const repeat: Partial<Repetition> = { frequency: 'monthly', weekdays: ['tue'], week };
    const window = windowOf(`${first}T10:00Z`, `${first}T11:00Z`, repeat);
    expect(shown(window, '2026-01-01', '2027-02-01')).toEqual(days.map((day) => `${day}T10:00 ${day}T11:00`));
  });

  test('February 29th is found years ahead', () => {
    const window = windowOf(
      '2028-02-29T10:00Z',
      '2028-02-29T11:00Z',
      { frequency: 'monthly', interval: 12 },
      'UTC',
    );
    expect(nextOccurrence(window, at('2028-03-01'))?.from).toBe(at('2032-02-29T10:00Z'));
  });

  test('no occurrence begins after `until`', () => {
    const window = windowOf('2026-11-01T10:00Z', '2026-11-01T11:00Z', { until: at('2026-11-03T10:00Z') });
    expect(occurrencesIn(window, 0, at('2027-01-01'))).toHaveLength(3);
    expect(nextOccurrence(window, at('2026-11-03T11:00Z'))).toBeNull();
  });

  test('an ended window is cut in the middle, and has nothing after it', () => {
    const daily = windowOf('2026-11-01T10:00Z', '2026-11-01T12:00Z', {});
    const ended = { ...daily, endedAt: at('2026-11-02T11:00Z') };
    expect(shown(ended, '2026-11-01', '2026-12-01')).toEqual([
      '2026-11-01T10:00 2026-11-01T12:00',
      '2026-11-02T10:00 2026-11-02T11:00',
    ]);
    expect(isDuring(ended, at('2026-11-02T11:00Z'))).toBe(false);
    expect(shown({ ...daily, endedAt: 0 }, '2026-11-01', '2026-12-01')).toEqual([]);
  });

  test('a repetition must contain its first day, and an occurrence must not last until the next one', () => {
    const weekly: Partial<Repetition> = { frequency: 'weekly', weekdays: ['tue'] };
    expect(beginsWithItself(windowOf('2026-11-22T10:00Z', '2026-11-22T11:00Z', weekly))).toBe(false);
    expect(beginsWithItself(windowOf('2026-11-24T10:00Z', '2026-11-24T11:00Z', weekly))).toBe(true);
    // At this instant it is already Tuesday in Auckland.
    expect(
      beginsWithItself(windowOf('2026-11-23T23:00Z', '2026-11-24T01:00Z', weekly, 'Pacific/Auckland')),
    ).toBe(true);
    expect(overlapsItself(windowOf('2026-11-22T10:00Z', '2026-11-23T10:00Z', {}, 'UTC'))).toBe(false);
    expect(overlapsItself(windowOf('2026-11-22T10:00Z', '2026-11-23T10:01Z', {}, 'UTC'))).toBe(true);
  });

  test('a window of the leap year overlaps itself in the next February, which is shorter', () => {
    const monthly = { frequency: 'monthly' } as const;
    expect(overlapsItself(windowOf('2028-01-05T00:00Z', '2028-02-02T12:00Z', monthly, 'UTC'))).toBe(true);
    expect(overlapsItself(windowOf('2028-01-05T00:00Z', '2028-02-02T00:00Z', monthly, 'UTC'))).toBe(false);
  });
});

const someWindow = fc
  .record({
    startsAt: fc.integer({ min: at('2025-01-01'), max: at('2026-01-01') }),
    lasts: fc.integer({ min: 1, max: 3 * DAY_MS }),
    timeZone: fc.constantFrom(BERLIN, 'UTC', 'America/New_York', 'Australia/Lord_Howe'),
    frequency: fc.constantFrom('daily', 'weekly', 'monthly'),
    interval: fc.integer({ min: 1, max: 4 }),
    days: fc.integer({ min: 1, max: 300 }),
    endsAfter: fc.option(fc.integer({ min: 0, max: 200 * DAY_MS })),
  })
  .map(({ startsAt, lasts, timeZone, frequency, interval, days, endsAfter }): WindowTimes => {
    const weekdays = frequency === 'weekly' ? (['mon', 'thu', 'sun'] as const) : [];
    return {
      startsAt,
      endsAt: startsAt + lasts,
      timeZone,
      repeat: { frequency, interval, weekdays, week: null, until: startsAt + days * DAY_MS },
      endedAt: endsAfter === null ? null : startsAt + endsAfter,
    };
  });

const spans = fc.tuple(
  fc.integer({ min: at('2024-12-01'), max: at('2026-12-01') }),
  fc.integer({ min: 1, max: 60 * DAY_MS }),
);

describe('for every window', () => {
  test('a span has the occurrences of all time that overlap it, each with a length, in order', () => {
    fc.assert(
      fc.property(someWindow, spans, (window, [from, lasts]) => {
        const all = occurrencesIn(window, 0, at('2028-01-01'));
        const found = occurrencesIn(window, from, from + lasts);
        expect(found).toEqual(all.filter((each) => each.from < from + lasts && each.until > from));
        for (const [index, each] of all.entries()) {
          expect(each.until).toBeGreaterThan(each.from);
          const next = all[index + 1];
          if (next !== undefined) expect(next.from).toBeGreaterThan(each.from);
        }
      }),
      { numRuns: 50 },
    );
  });

  test('isDuring holds exactly in the occurrences, and the next occurrence is the first that is not over', () => {
    fc.assert(
      fc.property(someWindow, spans, (window, [instant]) => {
        const all = occurrencesIn(window, 0, at('2028-01-01'));
        const covering = all.filter(({ from, until }) => from <= instant && instant < until);
        expect(isDuring(window, instant)).toBe(covering.length > 0);
        expect(nextOccurrence(window, instant)).toEqual(all.find(({ until }) => until > instant) ?? null);
      }),
      { numRuns: 50 },
    );
  });

  test('isDuring does not depend on earlier calls', () => {
    const asked = fc.array(fc.integer({ min: at('2024-12-01'), max: at('2026-12-01') }), { maxLength: 8 });
    const near = fc.array(fc.integer({ min: -2 * DAY_MS, max: 40 * DAY_MS }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(someWindow, asked, near, (window, instants, steps) => {
        for (const instant of instants) {
          for (const each of steps.map((step) => instant + step)) {
            expect(isDuring(window, each)).toBe(occurrencesIn(window, each, each + 1).length > 0);
          }
        }
      }),
      { numRuns: 50 },
    );
  });
});

const once = (id: number, monitorIds: readonly number[], startsAt: number, endsAt: number): LiveWindow => ({
  id,
  monitorIds,
  times: { startsAt, endsAt, timeZone: 'UTC', repeat: null, endedAt: null },
});

const INSTANTS = [0, 5, 9, 10, 15, 20, 29, 30];
const covered = (windows: Pick<Windows, 'cover'>) =>
  [7, 8, 9].map((id) => INSTANTS.filter((at) => windows.cover(id, at)));

test('a set of windows can be changed one by one', () => {
  const windows = Windows.of([once(1, [7, 8], 0, 10), once(2, [8], 5, 20), once(3, [9], 0, 10)]);
  expect(covered(windows)).toEqual([
    [0, 5, 9],
    [0, 5, 9, 10, 15],
    [0, 5, 9],
  ]);
  windows.set(2, null);
  windows.set(1, once(1, [9], 10, 30));
  expect(covered(windows)).toEqual([[], [], [0, 5, 9, 10, 15, 20, 29]]);
  expect([...windows.values()].map(({ id }) => id)).toEqual([3, 1]);
});

const someChange = fc
  .record({
    id: fc.constantFrom(-7, 1, 2),
    monitorIds: fc.subarray([7, 8, 9], { minLength: 1 }),
    span: fc.tuple(fc.constantFrom(...INSTANTS), fc.constantFrom(...INSTANTS)),
    isRemoved: fc.boolean(),
  })
  .map(({ id, monitorIds, span: [one, other], isRemoved }) => {
    const window = isRemoved ? null : once(id, monitorIds, Math.min(one, other), Math.max(one, other));
    return [id, window] as const;
  });

test('a draft holds as the windows do once its changes are committed, and leaves them as they are until then', () => {
  fc.assert(
    fc.property(fc.array(someChange), fc.array(someChange), (before, changes) => {
      const [windows, expected] = [new Windows(), new Windows()];
      for (const [id, window] of before) for (const each of [windows, expected]) each.set(id, window);
      const former = covered(windows);
      const draft = new DraftWindows(windows);
      for (const [id, window] of changes) {
        draft.set(id, window);
        expected.set(id, window);
      }
      expect(covered(draft)).toEqual(covered(expected));
      for (const id of [-7, 1, 2]) expect(draft.get(id)).toBe(expected.get(id));
      expect(covered(windows)).toEqual(former);
      for (const [id, window] of draft.changes) windows.set(id, window);
      expect(covered(windows)).toEqual(covered(expected));
    }),
  );
});
