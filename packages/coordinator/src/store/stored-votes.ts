import { REGIONS } from '@svc/shared/regions.ts';
import { z } from 'zod';
import type { Vote } from '../domain/status.ts';
import type { CountedVote, StoredVote } from '../evaluation/writes.ts';

/** A vote in `monitor_states.votes`. */
const voteJson = z.object({
  region: z.enum(REGIONS),
  outcome: z.enum(['passed', 'degraded', 'failed']),
  slot: z.number().int(),
  /** When it became a vote, epoch ms. */
  at: z.number(),
  /** Epoch ms. Absent in votes that svc 0.1 wrote. */
  ended_at: z.number().int().optional(),
  /** Epoch ms; null: it did not fail. Absent in votes that svc 0.1 wrote. */
  failed_since: z.number().int().nullable().optional(),
  /** Epoch ms. */
  up_slot: z.number().int().optional(),
  /** Epoch ms. Absent in votes that svc 0.1 wrote, where it follows from `at`. */
  counts_until: z.number().int().optional(),
  latency: z.number().nullable(),
  status_code: z.number().int().nullable(),
  error_message: z.string().nullable(),
});
const votesJson = z.array(voteJson);

/**
 * A vote in `transitions.votes`; `counted` is false for a vote that was too old or whose region was not
 * asked.
 */
export const transitionVote = voteJson
  .omit({ ended_at: true, failed_since: true, up_slot: true, counts_until: true })
  .extend({ counted: z.boolean() });
export type TransitionVote = z.infer<typeof transitionVote>;
export const transitionVotes = z.array(transitionVote);

export function votesText(votes: readonly StoredVote[]): string {
  return JSON.stringify(
    votes.map((vote) => ({
      ...toJson(vote),
      ended_at: vote.endedAt,
      failed_since: vote.failedSince,
      up_slot: vote.upSlot,
      ...(vote.countsUntil === null ? {} : { counts_until: vote.countsUntil }),
    })),
  );
}

/** @throws ZodError or SyntaxError for text that svc did not write */
export function readVotes(text: string): StoredVote[] {
  return votesJson.parse(JSON.parse(text)).map((vote) => ({
    region: vote.region,
    outcome: vote.outcome,
    slot: vote.slot,
    at: vote.at,
    endedAt: vote.ended_at ?? Math.max(vote.slot, Math.floor(vote.at)),
    failedSince: vote.failed_since ?? (vote.outcome === 'failed' ? vote.slot : null),
    // Earlier results are not known: no run of failures goes back beyond this vote.
    upSlot: vote.up_slot ?? vote.slot,
    countsUntil: vote.counts_until ?? null,
    latency: vote.latency,
    statusCode: vote.status_code,
    errorMessage: vote.error_message,
  }));
}

export function toTransitionVote(vote: CountedVote): TransitionVote {
  return { ...toJson(vote), counted: vote.counted };
}

function toJson(vote: Omit<Vote, 'expiresAt'>) {
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
