import type { NotRunReason, Outcome } from '@svc/shared/messages/check-result.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { placeOf } from './own-regions.ts';
import { noise } from './random.ts';
import type { Sight, World } from './world.ts';

/** Numbers of the dice of a world: what each die decides. */
const DICE = {
  blip: 1,
  notRun: 2,
  forgotten: 3,
  unanswered: 4,
  doubled: 5,
  late: 6,
  lag: 7,
  pause: 8,
  limit: 9,
} as const;

export function die(world: World, kind: keyof typeof DICE, region: Region, slot: number): number {
  return noise(world.seed, DICE[kind], placeOf(region), slot);
}

/** Throws a die for a slot as a whole, without a region. */
export function slotDie(world: World, kind: keyof typeof DICE, slot: number): number {
  return noise(world.seed, DICE[kind], REGIONS.length, slot);
}

/** Duration of an attempt that is answered, ms. */
const ANSWER_MS = 40;
const SLOW_MS = 900;

export type Finding = {
  readonly outcome: Outcome;
  readonly reason: NotRunReason | null;
  readonly attempts: readonly { outcome: Outcome; started_ms: number; latency: number }[];
  /** Time from the start of the check to its end, ms. */
  readonly tookMs: number;
  readonly isTimedOut: boolean;
};

export type Effort = { readonly timeoutMs: number; readonly retry: number };

/**
 * Makes the check of a slot, with its attempts and the waits between them.
 *
 * @param startedAt ms after the world's beginning
 */
export function check(
  world: World,
  effort: Effort,
  region: Region,
  slot: number,
  startedAt: number,
): Finding {
  const { blip, notRun } = world.mishaps;
  if (die(world, 'notRun', region, slot) < notRun) return notRunFinding('agent-starved');
  // The network between region and target fails: all attempts of the check fail.
  const isBlip = die(world, 'blip', region, slot) < blip;
  const attempts: { outcome: Outcome; started_ms: number; latency: number }[] = [];
  for (let atMs = 0, waitMs = 250; ; waitMs = Math.min(5_000, waitMs * 1.6)) {
    const sight = isBlip ? 'refused' : sightOf(world, region, startedAt + atMs);
    const { outcome, latency } = attempt(sight, effort.timeoutMs);
    attempts.push({ outcome, started_ms: atMs, latency });
    atMs += latency;
    if (outcome !== 'failed' || attempts.length > effort.retry) {
      return { outcome, reason: null, attempts, tookMs: Math.round(atMs), isTimedOut: sight === 'hung' };
    }
    atMs += Math.round(waitMs);
  }
}

export function notRunFinding(reason: NotRunReason): Finding {
  return { outcome: 'not_run', reason, attempts: [], tookMs: 0, isTimedOut: false };
}

/** The trouble that the region sees at an instant (ms after the beginning); null: none. */
function sightOf({ troubles }: World, region: Region, at: number): Sight | null {
  for (const { from, until, regions, sees, flapMs } of troubles) {
    if (at < from || at >= until || (regions !== null && !regions.includes(region))) continue;
    if (flapMs === 0 || Math.floor((at - from) / flapMs) % 2 === 0) return sees;
  }
  return null;
}

function attempt(sight: Sight | null, timeoutMs: number): { outcome: Outcome; latency: number } {
  switch (sight) {
    case null:
      return { outcome: 'passed', latency: ANSWER_MS };
    case 'refused':
      return { outcome: 'failed', latency: ANSWER_MS };
    case 'slow':
      return { outcome: 'degraded', latency: SLOW_MS };
    case 'hung':
      return { outcome: 'failed', latency: timeoutMs };
  }
}
