import { describe, expect, test } from 'vitest';
import { confirmedStatus, keptVerdicts, type SlotVerdict, withVerdict } from './confirmation.ts';
import type { MonitorStatus } from './monitor.ts';

const STATUSES = { a: 'active', d: 'degraded', e: 'error' } as const;
type Letter = keyof typeof STATUSES;

/**
 * The statuses after each slot, and the slot with which each change begins, for slots that say these letters.
 */
function followed(says: string, confirmAfter: number, recoverAfter: number, from: MonitorStatus = 'active') {
  let verdicts: readonly SlotVerdict[] = [];
  let status = from;
  let isOpen = false;
  return [...says].map((letter, slot) => {
    const said = { slot, status: STATUSES[letter as Letter], at: 10 * slot };
    verdicts = withVerdict(verdicts, said);
    const next = confirmedStatus(verdicts, status, isOpen, { confirmAfter, recoverAfter });
    verdicts = keptVerdicts(verdicts, { confirmAfter, recoverAfter });
    status = next?.status ?? status;
    isOpen = status === 'unknown' ? isOpen : status !== 'active';
    return `${status[0]}${next === null || next.begin === null ? '' : next.begin / 10}`;
  });
}

describe('slots in a row', () => {
  test.each([
    ['of one slot change the status at once', 'aeda', 1, 1, 'a e d a'],
    ['confirm an error, which begins with the first', 'aeea', 2, 1, 'a a e1 a'],
    ['end with a slot that says the status of before', 'aeaee', 2, 1, 'a a a a e3'],
    ['make a status that all of them say at least', 'edede', 2, 1, 'a d0 d d d'],
    ['need as many errors for an error', 'ededee', 2, 1, 'a d0 d d d e4'],
    ['count errors before the status was degraded', 'dee', 2, 1, 'a d0 e1'],
    ['confirm the way back', 'eaeaa', 1, 2, 'e e e e a3'],
    ['of degraded and active slots make an error degraded first', 'edaa', 1, 2, 'e e d1 a2'],
    ['are counted by their own number each way', 'eeeaa', 3, 2, 'a a e0 e a3'],
  ])('%s', (_name, says, confirmAfter, recoverAfter, expected) => {
    expect(followed(says, confirmAfter, recoverAfter).join(' ')).toBe(expected);
  });

  test('are needed from unknown where an incident begins, and not for active', () => {
    expect(followed('ee', 2, 2, 'unknown')).toEqual(['u', 'e0']);
    expect(followed('a', 2, 2, 'unknown')).toEqual(['a']);
  });

  test('are needed from unknown where an incident ends, and not for what goes on', () => {
    const said = (slot: number, status: SlotVerdict['status']) => ({ slot, status, at: slot });
    const two = { confirmAfter: 2, recoverAfter: 2 };
    expect(confirmedStatus([said(1, 'active')], 'unknown', true, two)).toBeNull();
    expect(confirmedStatus([said(1, 'active'), said(2, 'active')], 'unknown', true, two)).toEqual({
      status: 'active',
      begin: 1,
    });
    expect(confirmedStatus([said(1, 'error')], 'unknown', true, two)?.status).toBe('error');
  });

  test('have one verdict for each slot, which a late report replaces', () => {
    const before = [
      { slot: 1, status: 'error', at: 10 },
      { slot: 2, status: 'active', at: 20 },
    ] as const;
    expect(withVerdict(before, { slot: 2, status: 'error', at: 25 })).toEqual([
      before[0],
      { slot: 2, status: 'error', at: 25 },
    ]);
    expect(withVerdict(before, { slot: 1, status: 'error', at: 25 }).at(-1)?.slot).toBe(2);
    expect(withVerdict(before, { slot: 2, status: 'active', at: 25 })).toBe(before);
  });
});
