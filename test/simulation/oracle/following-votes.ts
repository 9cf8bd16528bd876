import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Now } from '../told.ts';
import { isFresh, type Vote, votableMs } from './rule.ts';

/*
 * The rules by which a new report changes the vote of a region. Like the
 * rule of the verdict, they are written from the sentences of the decisions.
 */

/** Time after the end of a passed or degraded check for which the target counts as up in the region, ms. */
const UP_AFTER_PASS_MS = 5_000;

/** Whether a report about the slot is so old that it says nothing about now. */
export function isTooOld(slot: number, { periodMs, longestCheckMs }: LiveMonitor, now: Now): boolean {
  return slot < now.slot - votableMs(periodMs, longestCheckMs);
}

/**
 * Returns the vote about a newer slot than that of the region's last vote. A failure begins with
 * its slot, with two exceptions. If the last vote is a failure, the new failure continues its run,
 * unless the last vote has aged and is too old for further reports. If the last vote is no failure
 * and has not aged, the new failure begins 5 s after the end of that check, if this is earlier.
 */
function following(before: Vote, vote: Vote, monitor: LiveMonitor | null, now: Now): Vote {
  if (vote.outcome !== 'failed') return vote;
  const { upSlot } = before;
  const isAged = !isFresh(before, now.age);
  if (before.outcome === 'failed') {
    const isOver = isAged && monitor !== null && isTooOld(before.slot, monitor, now);
    return isOver ? { ...vote, upSlot } : { ...vote, upSlot, downFrom: before.downFrom };
  }
  if (isAged) return { ...vote, upSlot };
  return { ...vote, upSlot, downFrom: Math.min(vote.slot, before.endedAt + UP_AFTER_PASS_MS) };
}

/**
 * Returns the vote after a late report about an older slot. A late failure may
 * lengthen the run of failures. Any other late report ends the run before its slot.
 */
function afterLate(vote: Vote, late: Vote): Vote {
  if (vote.outcome !== 'failed' || late.slot <= vote.upSlot || late.slot >= vote.slot) return vote;
  if (late.outcome === 'failed') {
    return late.slot < vote.downFrom ? { ...vote, downFrom: late.slot } : vote;
  }
  const since = Math.min(vote.slot, Math.max(late.slot + UP_AFTER_PASS_MS, late.endedAt + 1));
  return { ...vote, upSlot: late.slot, downFrom: Math.max(vote.downFrom, since) };
}

/** Casts a vote: "never in place of a newer slot's vote". Returns whether the region's vote has changed. */
export function castInto(
  votes: Map<Region, Vote>,
  vote: Vote,
  monitor: LiveMonitor | null,
  now: Now,
): boolean {
  const before = votes.get(vote.region);
  if (before === undefined) {
    votes.set(vote.region, vote);
    return true;
  }
  const next = vote.slot > before.slot ? following(before, vote, monitor, now) : afterLate(before, vote);
  votes.set(vote.region, next);
  return next !== before;
}

/** The vote of a missing region with this outcome. Nobody knows how long its check has taken. */
export function supposed(region: Region, outcome: Vote['outcome'], slot: number): Vote {
  const never = Number.POSITIVE_INFINITY;
  return {
    region,
    outcome,
    slot,
    freshUntil: never,
    downFrom: slot,
    upSlot: outcome === 'failed' ? 0 : slot,
    endedAt: outcome === 'failed' ? never : slot,
  };
}
