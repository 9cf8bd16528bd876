import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MINUTE_MS, NOW, PUBLIC_IDS, shownIncident } from '../../../../test/support/status-page-source.ts';
import { DAY_MS, dayOf } from '../verdict/summary-range.ts';
import { incidentDays, incidentViews } from './page-incidents.ts';

const API = { id: '4', name: 'API', monitorId: 1 };
const viewOf = (...measured: Parameters<typeof shownIncident>[0][]) =>
  incidentViews([API], measured.map(shownIncident), [], PUBLIC_IDS);

test('an incident has its changes as updates, newest first, and the worst of its states', () => {
  const openedAt = NOW - 2 * DAY_MS;
  const [incident] = viewOf({
    openedAt,
    closedAt: openedAt + 9 * MINUTE_MS,
    changes: [
      { at: openedAt, status: 'degraded' },
      { at: openedAt + MINUTE_MS, status: 'error' },
      { at: openedAt + 9 * MINUTE_MS, status: 'active' },
    ],
  });
  expect(incident).toMatchObject({ impact: 'down', components: [API], title: null });
  expect(incident?.updates.map(({ state }) => state)).toEqual(['operational', 'down', 'degraded']);
  expect(incident?.updatedAt).toBe(openedAt + 9 * MINUTE_MS);
});

test('an incident of a deactivated monitor says how it ended', () => {
  const [incident] = viewOf({ closure: 'monitor-deactivated' });
  expect(incident?.updates[0]?.state).toBe('ended');
});

test('ids of updates are unique, and stay the same when other updates come or go', () => {
  const change = fc.record({
    at: fc.integer({ min: 0, max: 9 }),
    status: fc.constantFrom('error', 'degraded'),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 2, maxLength: 12 }), (given) => {
      const changes = given
        .toSorted((a, b) => a.at - b.at)
        .map(({ at, status }) => ({ at, status: status as 'error' }));
      const ids = (some: typeof changes) =>
        viewOf({ openedAt: 0, closedAt: null, changes: some })[0]?.updates.map(({ id }) => id) ?? [];
      expect(new Set(ids(changes)).size).toBe(changes.length);
      expect(ids(changes)).toEqual(expect.arrayContaining(ids(changes.slice(0, -1))));
    }),
  );
});

test('each incident is listed once, on the day on which it began, newest first', () => {
  const begin = fc.integer({ min: NOW - 20 * DAY_MS, max: NOW });
  fc.assert(
    fc.property(fc.array(begin, { maxLength: 8 }), (begins) => {
      const incidents = viewOf(...begins.map((openedAt, index) => ({ openedAt, id: index + 1 })));
      const listed = incidentDays(incidents);
      expect(listed.flatMap((day) => day.incidents)).toEqual(incidents);
      for (const { at, incidents: ofDay } of listed) {
        for (const { startedAt } of ofDay) expect(dayOf(startedAt)).toBe(at);
      }
      const days = listed.map(({ at }) => at);
      expect(days).toEqual([...new Set(days)].sort((one, other) => other - one));
    }),
  );
});
