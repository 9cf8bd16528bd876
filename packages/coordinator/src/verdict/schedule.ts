import { PERIODICITIES, periodMs } from '@svc/shared/periodicity.ts';

/*
 * The functions of this file decide when monitors are due. Instants are epoch ms of the slots' clock. `period`
 * and `phase` are ms, and the phase is at least 0 and less than the period.
 *
 * A monitor's slots lie on a grid of its own, `phase` after every multiple of its period. The slots are the
 * same in all regions of the monitor. Its first slot after a creation, an activation or a change of the probed
 * attributes may lie off the grid, so that an hourly monitor has its first result at once. If recorded slots lie
 * in the future when a leadership begins, the scheduler shifts all grids (`SlotClock.gridShiftMs`).
 */

/** Shortest distance between the first slots of different monitors, ms: 500 first slots a second. */
export const FIRST_SLOT_SPACING_MS = 2;

/**
 * The shortest period, ms. Every period is a multiple of it, so a monitor's grid of the shortest period
 * contains its slots of every other period.
 */
export const FINEST_PERIOD_MS = periodMs(PERIODICITIES[0]);

/**
 * Slots on the grid lie at multiples of this step, ms. Slots of one instant are checked together, which costs
 * an agent some 40 % less than one check in each millisecond (decision 0062). Every period is a multiple of
 * the step.
 */
export const SLOT_STEP_MS = 100;

/**
 * Offset of the monitor's slots from the multiples of its period, ms. The offsets of different ids are spread
 * evenly over the period. The offset of an id is the same at every start. One hash serves all periods: if one
 * period divides another, the grid of the longer period is a subset of the other grid.
 *
 * @param id positive integer
 */
export function phaseOf(id: number, period: number): number {
  const phase = spreadOf(id, period);
  return phase - (phase % SLOT_STEP_MS);
}

/** Maps an id to a number from 0 to below `size`. Different ids are spread evenly over these numbers. */
export function spreadOf(id: number, size: number): number {
  // The finalizer of MurmurHash3 puts consecutive ids far apart.
  let hash = id | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash = (hash ^ (hash >>> 16)) >>> 0;
  return hash % size;
}

/** Whether the slot lies on the monitor's grid of this period. */
export function isOnGrid(id: number, slot: number, period: number): boolean {
  return slot % period === phaseOf(id, period);
}

/** First slot on the grid at or after `instant`. */
export function gridSlotFrom(instant: number, period: number, phase: number): number {
  return Math.ceil((instant - phase) / period) * period + phase;
}

/** Last slot on the grid at or before `instant`. */
export function gridSlotUntil(instant: number, period: number, phase: number): number {
  return Math.floor((instant - phase) / period) * period + phase;
}

/**
 * The slot after `previous`: the first slot on the grid that is at least half a period after `previous`. The
 * half period only matters if `previous` lies off the grid (a first slot, or a slot of an earlier period).
 */
export function slotAfter(previous: number, period: number, phase: number): number {
  return gridSlotFrom(previous + Math.ceil(period / 2), period, phase);
}

export type DueSlot =
  /** Run this slot, which is less than half a period old. */
  | { readonly is: 'due'; readonly slot: number }
  /** The newest missed slot is too old. The next slot is `next`. */
  | { readonly is: 'missed'; readonly next: number };

/**
 * Decides which slot of a monitor runs when the slot `dueAt` should be opened. Usually `dueAt` runs. After a
 * standstill only the newest missed slot runs, and only while it is less than half a period old.
 *
 * @param dueAt a slot of the monitor, on the grid or not; it may lie shortly after `now`
 */
export function dueSlot(dueAt: number, now: number, period: number, phase: number): DueSlot {
  const newest = Math.max(dueAt, gridSlotUntil(now, period, phase));
  if (now - newest < period / 2) return { is: 'due', slot: newest };
  return { is: 'missed', next: gridSlotFrom(now, period, phase) };
}

/**
 * The slot at which a monitor continues after a restart: a missed slot that may still run, otherwise the next
 * slot on the grid.
 *
 * @param newest the monitor's newest slot
 */
export function slotAfterRestart(newest: number, now: number, period: number, phase: number): number {
  const next = slotAfter(newest, period, phase);
  if (next >= now) return next;
  const due = dueSlot(next, now, period, phase);
  return due.is === 'due' ? due.slot : due.next;
}
