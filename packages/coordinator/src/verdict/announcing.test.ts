import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import { expect, test } from 'vitest';
import { alertOf } from './announcing.ts';
import type { Vote, VoteOutcome } from './status.ts';

const MONITOR = { id: 1, name: 'API', target: 'https://example.com', type: 'http', degradedAtMs: 0 } as const;

function vote(outcome: VoteOutcome, slot: number): Vote {
  return {
    region: 'hosta-fra',
    outcome,
    slot,
    at: slot,
    endedAt: slot,
    failedSince: outcome === 'failed' ? slot : null,
    upSlot: 0,
    expiresAt: Number.POSITIVE_INFINITY,
    latency: slot,
    statusCode: null,
    errorMessage: outcome,
  };
}

test.each<{ status: AlertStatus; votes: readonly Vote[]; slot: number }>([
  { status: 'error', votes: [vote('failed', 1), vote('failed', 2), vote('passed', 3)], slot: 2 },
  { status: 'degraded', votes: [vote('degraded', 1), vote('failed', 2), vote('passed', 3)], slot: 1 },
  { status: 'degraded', votes: [vote('failed', 1), vote('failed', 2), vote('passed', 3)], slot: 2 },
  { status: 'recovered', votes: [vote('passed', 1), vote('degraded', 2), vote('failed', 3)], slot: 1 },
  { status: 'recovered', votes: [vote('degraded', 1), vote('failed', 2)], slot: 1 },
])(
  'an alert "$status" describes the newest vote that supports the status, not a newer one: slot $slot',
  ({ status, votes, slot }) => {
    const facts = {
      monitor: MONITOR,
      status,
      at: 9,
      reason: 'majority-failed',
      incident: 'a',
      since: null,
    } as const;
    const outcome = votes.find((each) => each.slot === slot)?.outcome;
    expect(alertOf({ ...facts, votes })).toMatchObject({
      cronTimestamp: slot,
      latency: slot,
      errorMessage: outcome,
    });
  },
);
