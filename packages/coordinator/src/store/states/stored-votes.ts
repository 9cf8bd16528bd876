import type { Region } from '@svc/shared/regions.ts';
import { z } from 'zod';
import type { SlotVerdict } from '../../verdict/confirmation.ts';
import type { Vote, VoteOutcome } from '../../verdict/status.ts';
import type { CountedVote, StoredVote, WrittenVotes } from '../../verdict/writes.ts';

/*
 * Writes votes and verdicts as text, and reads them. The votes of a state are written with every slot. To be
 * short, each vote is an array without names, with differences instead of instants, and without usual values at
 * its end. The votes of a transition are shown to people, so they are objects with names.
 */

/** The letters that stand for outcomes in `monitor_votes`. */
const LETTERS = { passed: 'p', degraded: 'd', failed: 'f' } as const satisfies { [O in VoteOutcome]: string };
const OUTCOMES = { p: 'passed', d: 'degraded', f: 'failed' } as const;

/**
 * A vote in `monitor_votes.votes` and `monitor_votes.open_slots`, as an array. Instants are written as differences
 * from the vote's slot, ms. These columns contain only what this file wrote, so no schema parses them: a start reads
 * them for every monitor.
 */
type CompactVote = readonly [
  region: Region,
  outcome: keyof typeof OUTCOMES,
  /** Slot of the vote, relative to the newest decided slot, or to the open slot that the vote belongs to, ms. */
  slotAfter: number,
  /** Time from the vote's slot to the instant at which the result became a vote, ms. */
  at: number,
  /** Time from the vote's slot to the end of the check, ms. */
  endedAt: number,
  /** Latency, ms. */
  latency: number | null,
  statusCode?: number | null,
  errorMessage?: string | null,
  /** Time from the beginning of the failures to the vote's slot, ms; null: the value of {@link usualOf}. */
  failed?: number | null,
  /** Time from the newest slot that did not fail to the vote's slot, ms; null: the value of {@link usualOf}. */
  up?: number | null,
  /** How much earlier the vote expires than its age requires, ms; negative: later. See `StoredVote.agedMs`. */
  agedMs?: number,
];

/** The letters that stand for statuses in `monitor_votes.verdicts`. */
const STATUS_LETTERS = { active: 'a', degraded: 'd', error: 'e' } as const;
const STATUSES = { a: 'active', d: 'degraded', e: 'error' } as const;
/**
 * Verdict of a slot: the slot relative to the newest decided
 * slot, the status, and the time from slot to verdict, ms.
 */
type CompactVerdict = readonly [slotAfter: number, status: keyof typeof STATUSES, at: number];

/**
 * A vote in `transitions.votes`. `counted` is false if the vote had expired or its region was not in the
 * electorate.
 */
export const transitionVote = z.object({
  region: z.string(),
  outcome: z.enum(['passed', 'degraded', 'failed']),
  slot: z.number().int(),
  /** When the result became a vote, epoch ms. */
  at: z.number(),
  latency: z.number().nullable(),
  status_code: z.number().int().nullable(),
  error_message: z.string().nullable(),
  counted: z.boolean(),
});
export type TransitionVote = z.infer<typeof transitionVote>;
export const transitionVotes = z.array(transitionVote);

const NONE: readonly never[] = [];

/** @param base newest decided slot, epoch ms */
export function votesText(votes: readonly StoredVote[], base: number): string {
  return JSON.stringify(compacted(votes, base));
}

/**
 * @param base the same value that {@link votesText} was given
 */
export function readVotes(text: string, base: number): StoredVote[] {
  return (JSON.parse(text) as CompactVote[]).map((vote) => storedVote(vote, base));
}

/** The open slots with their reports as text; null: there are none. */
export function openSlotsText(open: WrittenVotes['open']): string | null {
  if (open.length === 0) return null;
  return JSON.stringify(open.map(({ slot, reports }) => [slot, compacted(reports, slot)]));
}

export function readOpenSlots(text: string | null): WrittenVotes['open'] {
  if (text === null) return NONE;
  return (JSON.parse(text) as [slot: number, reports: CompactVote[]][]).map(([slot, reports]) => ({
    slot,
    reports: reports.map((vote) => storedVote(vote, slot)),
  }));
}

/** The verdicts as text; null: none is kept. `base`: as for {@link votesText}. */
export function verdictsText(verdicts: readonly SlotVerdict[], base: number): string | null {
  if (verdicts.length === 0) return null;
  return JSON.stringify(
    verdicts.map(({ slot, status, at }) => [slot - base, STATUS_LETTERS[status], at - slot]),
  );
}

export function readVerdicts(text: string | null, base: number): readonly SlotVerdict[] {
  if (text === null) return NONE;
  return (JSON.parse(text) as CompactVerdict[]).map(([slot, letter, at]) => ({
    slot: base + slot,
    status: STATUSES[letter],
    at: base + slot + at,
  }));
}

export function toTransitionVote(vote: CountedVote): TransitionVote {
  return {
    region: vote.region,
    outcome: vote.outcome,
    slot: vote.slot,
    at: vote.at,
    latency: vote.latency,
    status_code: vote.statusCode,
    error_message: vote.errorMessage,
    counted: vote.counted,
  };
}

/** The usual values of `failedSince` and `upSlot`: those of a region's first vote with this outcome. */
function usualOf(outcome: VoteOutcome, slot: number): Pick<Vote, 'failedSince' | 'upSlot'> {
  return outcome === 'failed' ? { failedSince: slot, upSlot: 0 } : { failedSince: null, upSlot: slot };
}

type Compact = (Region | string | number | null)[];

function compacted(votes: readonly StoredVote[], base: number): Compact[] {
  const texts: Compact[] = [];
  for (let index = 0; index < votes.length; index += 1) texts.push(compact(votes[index] as StoredVote, base));
  return texts;
}

function compact(vote: StoredVote, base: number): Compact {
  const { region, outcome, slot, at, endedAt, failedSince, upSlot, agedMs } = vote;
  const text: Compact = [region, LETTERS[outcome], slot - base, at - slot, endedAt - slot, vote.latency];
  const usual = usualOf(outcome, slot);
  const isUsual = failedSince === usual.failedSince && upSlot === usual.upSlot && agedMs === 0;
  if (isUsual && vote.errorMessage === null) {
    if (vote.statusCode !== null) text.push(vote.statusCode);
    return text;
  }
  text.push(vote.statusCode, vote.errorMessage);
  if (isUsual) return text;
  text.push(failedSince === usual.failedSince || failedSince === null ? null : slot - failedSince);
  text.push(upSlot === usual.upSlot ? null : slot - upSlot);
  text.push(agedMs);
  return text;
}

function storedVote(vote: CompactVote, base: number): StoredVote {
  const outcome = OUTCOMES[vote[1]];
  const slot = base + vote[2];
  const failed = vote[8] ?? null;
  const up = vote[9] ?? null;
  return {
    region: vote[0],
    outcome,
    slot,
    at: slot + vote[3],
    endedAt: slot + vote[4],
    failedSince: failed === null ? usualOf(outcome, slot).failedSince : slot - failed,
    upSlot: up === null ? usualOf(outcome, slot).upSlot : slot - up,
    agedMs: vote[10] ?? 0,
    latency: vote[5],
    statusCode: vote[6] ?? null,
    errorMessage: vote[7] ?? null,
  };
}
