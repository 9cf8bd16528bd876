import type { Alert, AlertStatus } from '@svc/shared/channels/alert.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GROUP_WINDOW_MS, groupAlert, isTogether, RecentChanges, sharedFacts } from './grouping.ts';

const alertOf = (id: number, status: AlertStatus, url: string, errorMessage?: string): Alert => ({
  monitor: { id, name: `Monitor ${id}`, url, type: 'http' },
  status,
  cronTimestamp: 1,
  at: id,
  reason: 'test',
  incident: `incident ${id}`,
  regions: [],
  ...(errorMessage === undefined ? {} : { errorMessage }),
});

const HOST = 'https://shop.example';

describe('the shared facts of alerts', () => {
  test.each<[string, Alert[], object]>([
    ['nothing', [alertOf(1, 'error', `${HOST}/a`, 'x'), alertOf(2, 'error', 'https://b.example/', 'y')], {}],
    [
      'the host, over different ports and forms of targets',
      [alertOf(1, 'error', `${HOST}/a`), alertOf(2, 'error', 'shop.example:25')],
      { host: 'shop.example' },
    ],
    [
      'the address, without its secrets',
      [alertOf(1, 'error', `${HOST}/?key=1`), alertOf(2, 'error', `${HOST}/?key=2`)],
      { address: `${HOST}/?…` },
    ],
    [
      'the error',
      [alertOf(1, 'error', 'https://a.example/', 'refused'), alertOf(2, 'error', 'b.example', 'refused')],
      { errorMessage: 'refused' },
    ],
    [
      'no error, because one alert has none',
      [alertOf(1, 'error', 'a.example', 'refused'), alertOf(2, 'recovered', 'b.example')],
      {},
    ],
  ])('%s', (_name, alerts, expected) => {
    expect(sharedFacts(alerts)).toEqual(expected);
  });
});

const alerts = fc
  .array(
    fc.record({
      status: fc.constantFrom<AlertStatus>('error', 'degraded', 'recovered'),
      url: fc.constantFrom(`${HOST}/a`, `${HOST}/b`, 'shop.example:443', 'other.example', ''),
      message: fc.option(fc.constantFrom('refused', 'timed out'), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 150 },
  )
  .map((each) => each.map(({ status, url, message }, index) => alertOf(index + 1, status, url, message)));

describe('a group', () => {
  test('counts every alert once, lists the worst first, and has the worst status', () => {
    fc.assert(
      fc.property(alerts, (given) => {
        const { group, status, monitor } = groupAlert(given);
        const counts = group?.counts ?? { error: -1, degraded: -1, recovered: -1 };
        expect(counts.error + counts.degraded + counts.recovered).toBe(given.length);
        const inOrder = (['error', 'degraded', 'recovered'] as const).flatMap((each) =>
          given.filter((alert) => alert.status === each),
        );
        expect(group?.monitors.map(({ id }) => id)).toEqual(
          inOrder.slice(0, 100).map((alert) => alert.monitor.id),
        );
        expect(counts[status]).toBeGreaterThan(0);
        if (status !== 'error') expect(counts.error).toBe(0);
        expect(given.find((alert) => alert.monitor.id === monitor.id)?.status).toBe(status);
      }),
    );
  });

  test('shares only facts that every alert has, in any order of the alerts', () => {
    fc.assert(
      fc.property(alerts, (given) => {
        const shared = sharedFacts(given);
        expect(sharedFacts(given.toReversed())).toEqual(shared);
        const { errorMessage, address, host } = shared;
        for (const alert of given) {
          if (errorMessage !== undefined) expect(alert.errorMessage).toBe(errorMessage);
          if (address !== undefined) expect(alert.monitor.url).toBe(address);
          if (host !== undefined) expect(alert.monitor.url).toContain(host);
        }
      }),
    );
  });
});

test('notices about monitors are counted apart from the statuses, and listed last by their titles', () => {
  const notice = { title: 'No data: Shop', lines: [], facts: [] };
  const [told, failed] = [{ ...alertOf(1, 'degraded', HOST), notice }, alertOf(2, 'degraded', HOST)];
  const mixed = groupAlert([told, failed]);
  expect(mixed).toMatchObject({ monitor: { id: 2 }, group: { counts: { degraded: 1, notices: 1 } } });
  expect(mixed.group?.monitors).toEqual([
    { id: 2, name: expect.any(String), status: 'degraded' },
    { id: 1, name: expect.any(String), status: 'degraded', notice: 'No data: Shop' },
  ]);
  expect(groupAlert([told, { ...told, monitor: { ...told.monitor, id: 3 } }]).group?.counts).toEqual({
    error: 0,
    degraded: 0,
    recovered: 0,
    notices: 2,
  });
});

test('a group of reminders is a reminder', () => {
  const reminder = { number: 2, lastsMs: 60_000 };
  const reminders = [1, 2].map((id) => ({ ...alertOf(id, 'error', HOST), reminder }));
  expect(groupAlert(reminders)).toMatchObject({
    reminder,
    group: { monitors: [{ lastsMs: 60_000 }, { lastsMs: 60_000 }] },
  });
});

describe('recent changes', () => {
  test('the same change has the same rank however often it is noted, and ranks start again after a pause', () => {
    const changes = new RecentChanges();
    expect([1, 2, 3].map((id) => changes.note(id, 1_000))).toEqual([1, 2, 3]);
    expect([3, 1, 2].map((id) => changes.note(id, 1_000))).toEqual([3, 1, 2]);
    expect(changes.note(1, 1_000 + GROUP_WINDOW_MS)).toBe(1);
  });

  test('a rank is the number of monitors that changed together so far', () => {
    const steps = fc.array(
      fc.record({ id: fc.integer({ min: 1, max: 40 }), later: fc.integer({ min: 1, max: 5_000 }) }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(steps, (given) => {
        const changes = new RecentChanges();
        const last = new Map<number, number>();
        let now = 0;
        for (const { id, later } of given) {
          now += later;
          last.set(id, now);
          const together = [...last].filter(([, at]) => isTogether(at, now)).map(([one]) => one);
          expect(changes.note(id, now)).toBe(together.length);
          expect(changes.together(now)).toEqual(new Set(together));
        }
      }),
    );
  });

  test('changes from before the clock was set back are removed', () => {
    const changes = new RecentChanges();
    for (let id = 1; id <= 30; id += 1) changes.note(id, 10_000_000);
    expect(changes.note(31, 1_000)).toBe(1);
    expect(changes.isOver(10_000_000)).toBe(true);
  });
});
