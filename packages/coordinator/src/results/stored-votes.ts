import { REGIONS } from '@svc/shared/regions.ts';
import { z } from 'zod';
import type { RegionSet } from '../domain/region-set.ts';
import { isCounted, type Vote } from '../domain/status.ts';

/** A vote in `monitor_states.votes`. */
export const storedVote = z.object({
  region: z.enum(REGIONS),
  outcome: z.enum(['passed', 'degraded', 'failed']),
  slot: z.number().int(),
  /** When its slot was decided, epoch ms. */
  at: z.number(),
  latency: z.number().nullable(),
  status_code: z.number().int().nullable(),
  error_message: z.string().nullable(),
});
export type StoredVote = z.infer<typeof storedVote>;
export const storedVotes = z.array(storedVote);

/** A vote in `transitions.votes`; `counted` is false for one that was too old or not asked for. */
export const transitionVote = storedVote.extend({ counted: z.boolean() });
export type TransitionVote = z.infer<typeof transitionVote>;
export const transitionVotes = z.array(transitionVote);

export function toStoredVote(vote: Vote): StoredVote {
  return {
    region: vote.region,
    outcome: vote.outcome,
    slot: vote.slot,
    at: vote.at,
    latency: vote.latency,
    status_code: vote.statusCode,
    error_message: vote.errorMessage,
  };
}

/** @param now ms, as the votes' `expiresAt` */
export function toTransitionVotes(
  votes: readonly Vote[],
  electorate: RegionSet,
  now: number,
): TransitionVote[] {
  return votes.map((vote) => ({ ...toStoredVote(vote), counted: isCounted(vote, electorate, now) }));
}

export function votesText(votes: readonly Vote[]): string {
  return JSON.stringify(votes.map(toStoredVote));
}
