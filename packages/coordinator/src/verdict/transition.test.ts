import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MONITOR_STATUSES, type MonitorStatus } from './monitor.ts';
import { type Announced, announcement, incidentEffect } from './transition.ts';

describe('announcements', () => {
  test.each<[Announced, MonitorStatus, string | null]>([
    ['active', 'active', null],
    ['active', 'degraded', 'degraded'],
    ['active', 'error', 'error'],
    ['active', 'unknown', null],
    ['degraded', 'active', 'recovered'],
    ['degraded', 'degraded', null],
    ['degraded', 'error', 'error'],
    ['degraded', 'unknown', null],
    ['error', 'active', 'recovered'],
    ['error', 'degraded', 'degraded'],
    ['error', 'error', null],
    ['error', 'unknown', null],
  ])('a channel with the announced status %s and the new status %s: %s', (announced, status, told) => {
    expect(announcement(announced, status)).toBe(told);
  });

  test('no status is announced twice in a row, and a recovery follows only a degraded or an error', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...MONITOR_STATUSES)), (statuses) => {
        let announced: Announced = 'active';
        let last: string = 'recovered';
        for (const status of statuses) {
          const told = announcement(announced, status);
          if (told === null || status === 'unknown') continue;
          expect(told).not.toBe(last);
          last = told;
          announced = status;
        }
      }),
    );
  });
});

test('an incident runs from the first error or degraded to the recovery', () => {
  const statuses: MonitorStatus[] = ['active', 'degraded', 'error', 'unknown', 'error', 'active', 'unknown'];
  let isOpen = false;
  const changes = statuses.map((status) => {
    const change = incidentEffect(isOpen, status);
    if (change !== 'keep') isOpen = change === 'open';
    return change;
  });
  expect(changes).toEqual(['keep', 'open', 'keep', 'keep', 'keep', 'close', 'keep']);
});
