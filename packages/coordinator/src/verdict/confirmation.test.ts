import { describe, expect, test } from 'vitest';
import { confirmedStatus, keptVerdicts, type SlotVerdict, withVerdict } from './confirmation.ts';
import type { MonitorStatus } from './monitor.ts';

const STATUSES = { a: 'active', d: 'degraded', e: 'error' } as const;
type Letter = keyof typeof STATUSES;

/**
 * The status after each slot, and the slot with which each change begins, for slots with the verdicts of these letters.
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
    return `${status[0]}${next?.first?.slot ?? ''}`;
  });
}

describe('slots in a row', () => {
  test.each([
    ['change the status at once if one is enough', 'aeda', 1, 1, 'a e d a'],
    ['confirm an error, which begins with the first of them', 'aeea', 2, 1, 'a a e1 a'],
    ['end with a slot that has the former status', 'aeaee', 2, 1, 'a a a a e3'],
    ['make the status the least bad of their verdicts', 'edede', 2, 1, 'a d0 d d d'],
    ['make an error only if enough of them are errors', 'ededee', 2, 1, 'a d0 d d d e4'],
    ['include an error from before the status was degraded', 'dee', 2, 1, 'a d0 e1'],
    ['confirm the recovery', 'eaeaa', 1, 2, 'e e e e a3'],
    ['of degraded and active verdicts make an error degraded first', 'edaa', 1, 2, 'e e d1 a2'],
    ['have a number of their own for each direction', 'eeeaa', 3, 2, 'a a e0 e a3'],
  ])('%s', (_name, says, confirmAfter, recoverAfter, expected) => {
    expect(followed(says, confirmAfter, recoverAfter).join(' ')).toBe(expected);
  });

  test('are needed after `unknown` if an incident begins, and not for `active`', () => {
    expect(followed('ee', 2, 2, 'unknown')).toEqual(['u', 'e0']);
    expect(followed('a', 2, 2, 'unknown')).toEqual(['a']);
  });

  test('are needed after `unknown` if an incident ends, and not if it goes on', () => {
    const said = (slot: number, status: SlotVerdict['status']) => ({ slot, status, at: slot });
    const two = { confirmAfter: 2, recoverAfter: 2 };
    expect(confirmedStatus([said(1, 'active')], 'unknown', true, two)).toBeNull();
    expect(confirmedStatus([said(1, 'active'), said(2, 'active')], 'unknown', true, two)).toEqual({
      status: 'active',
      first: said(1, 'active'),
    });
    expect(confirmedStatus([said(1, 'error')], 'unknown', true, two)?.status).toBe('error');
  });

  test('begin after the last slot whose verdict is nearer to the former status than theirs', () => {
    const said = (slot: number, status: SlotVerdict['status']) => ({ slot, status, at: slot });
    const two = { confirmAfter: 2, recoverAfter: 2 };
    // An incident is open that is only degraded. `unknown` counts as `error` then.
    const recovered = [said(1, 'degraded'), said(2, 'active'), said(3, 'active')];
    expect(confirmedStatus(recovered, 'unknown', true, two)).toEqual({
      status: 'active',
      first: recovered[1],
    });
    // Three slots were needed until now.
    const worse = [said(1, 'degraded'), said(2, 'error'), said(3, 'error')];
    expect(confirmedStatus(worse, 'active', false, two)).toEqual({ status: 'error', first: worse[1] });
  });

  test('have one verdict each, which a late report replaces', () => {
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
