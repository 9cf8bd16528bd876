import type { MonitorStatus } from '@svc/coordinator/domain/monitor.ts';
import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import type { Announcement, Now, Told, Transition } from '../told.ts';
import { Channels } from './channels.ts';
import { ConfirmedOutages, IN_TIME_MS } from './confirmed.ts';
import type { RegionsWithAgents } from './electorate.ts';
import { History } from './history.ts';
import { Holds } from './holds.ts';
import { Maintenance, type Window } from './maintenance.ts';
import { Picture } from './picture.ts';

export const VIOLATIONS = [
  /** An outage that a majority confirmed about one slot was not announced in time. */
  'unannounced',
  /** The status is not, or too late, what the votes make. */
  'late',
  /** The status changed to what the votes do not make. */
  'unfounded',
  /** A verdict from nothing but failures of our own. */
  'own-failure',
  /** A channel was told twice, wrongly, or not at all. */
  'announcement',
  /** The history does not follow from itself, or its times do not add up. */
  'history',
] as const;
export type ViolationKind = (typeof VIOLATIONS)[number];
export type Violation = { readonly kind: ViolationKind; readonly at: number; readonly text: string };

/** What the service shows after a commit. */
export type Seen = {
  readonly status: MonitorStatus;
  readonly transitions: readonly Transition[];
  readonly announcements: readonly Announcement[];
};

/**
 * Stored times are on the slots' clock, which runs a tenth faster or slower after the system's clock was set;
 * votes age on the monotonic clock. After a restart ages may therefore differ by a tenth, and by this time, ms.
 */
const AGES_DIFFER_MS = 60_000;
const AGES_DIFFER_PART = 0.1;

/**
 * Watches a world. It gets the inputs of the evaluation and checks the outputs. The sentences of the design
 * say which outputs are right.
 */
export class Oracle {
  readonly violations: Violation[] = [];
  readonly confirmed = new ConfirmedOutages();
  readonly channels = new Channels();
  readonly #holds = new Holds();
  readonly #maintenance = new Maintenance();
  /** What the channels had not been told when the last look ended, because it was held; null: nothing. */
  #heldBack: string | null = null;
  readonly #history = new History();
  readonly #picture: Picture;
  readonly #isTargetFine: boolean;
  #status: MonitorStatus = 'unknown';
  #wasClockSet = false;
  /** The service has started since the system's clock was set. */
  #hasStartedSince = false;
  #startedAt = 0;
  /**
   * A slot without a report at a restart is unknown afterwards (decision 0157). A report that is read at the
   * start waits until dispatch has resumed, instead of voting at once. This is the time by which its vote
   * ages later, ms.
   */
  #waitedMs = 0;
  /** Instant since which the status differs from the expected one, monotonic ms; null: it does not. */
  #wrongSince: number | null = null;
  /**
   * Instant before which nothing is judged, because the service is down or has just started, monotonic ms.
   */
  #judgeFrom = 0;
  #resumed = new Set<number>();

  /**
   * @param isTargetFine whether only failures of our own can occur in the world
   */
  constructor(presence: RegionsWithAgents, { isTargetFine }: { readonly isTargetFine: boolean }) {
    this.#picture = new Picture(presence);
    this.#isTargetFine = isTargetFine;
  }

  /** The service ended. Until it has resumed, nothing is expected of it. */
  ended(now: Now): void {
    this.#picture.ended(now);
    this.#judgeFrom = Number.POSITIVE_INFINITY;
    this.#wrongSince = null;
    this.#heldBack = null;
    this.#maintenance.forget();
  }

  /** @param isBehind whether recorded slots lie more than 60 s ahead of its clock */
  started(now: Now, isBehind: boolean): void {
    this.#picture.restarted(now, isBehind);
    this.#history.restarted(now.slot);
    this.#holds.forget();
    this.#hasStartedSince = this.#wasClockSet;
    this.#history.mayLieAhead = this.#wasClockSet;
    this.#resumed = new Set();
    this.#startedAt = now.monotonic;
  }

  /** A maintenance window was set. Null: it was removed. */
  windowSet(number: number, window: Window | null): void {
    this.#maintenance.set(number, window);
    this.#heldBack = null;
  }

  /** The system's clock was set. */
  clockWasSet(): void {
    this.#wasClockSet = true;
  }

  linked(channel: number, kind: ChannelKind): void {
    this.channels.linked(channel, kind);
  }

  unlinked(channel: number, announcements: readonly Announcement[], now: Now): void {
    this.#violated('announcement', this.channels.unlinked(channel, announcements), now);
  }

  /**
   * Takes everything that happened at an instant: `told` is committed, and `seen` is what the service shows
   * then.
   */
  look(told: readonly Told[], seen: Seen, now: Now): void {
    const isJudging = now.monotonic >= this.#judgeFrom;
    this.#maintenance.look(now);
    if (isJudging) this.#judgeHeldBack(now);
    const steps = new Set([this.#picture.expected]);
    if (isJudging) steps.add(this.#judgeTime(now));
    steps.add(this.#picture.expected);
    // All results of one instant are read before any of them is evaluated.
    for (const each of told) if (each.is === 'reported') this.#holds.read(each.result, now);
    for (const each of told) {
      this.#tell(each, now);
      steps.add(this.#picture.expected);
    }
    const isEnded = told.some(
      (each) => each.is === 'declared' && each.after?.active !== true && each.before?.active,
    );
    if (isEnded) this.#violated('announcement', this.channels.ended(seen.announcements), now);
    for (const transition of seen.transitions) {
      this.#transition(transition, steps, now);
      steps.add(transition.to);
    }
    this.#announcements(seen, steps, now);
    this.#status = seen.status;
    if (now.monotonic >= this.#judgeFrom) this.#judge(now, now.monotonic);
  }

  /** The world is over. */
  finish(from: number, now: Now): void {
    if (now.monotonic >= this.#judgeFrom) this.#judgeTime(now);
    if (this.#isToldDue(now)) this.#violated('announcement', this.channels.missing(this.#status), now);
    this.#violated('history', this.#history.daysFault(from, now.slot), now);
  }

  #tell(told: Told, now: Now): void {
    if (told.is === 'resumed') this.#resumed.add(told.slot);
    if (told.is === 'declared' && endsVotes(told)) this.confirmed.excuse();
    const isFirst = told.is !== 'reported' || !this.#picture.isRecorded(told.region, told.result.slot);
    this.#picture.tell(told, now);
    if (told.is === 'all-resumed') {
      // The results that were read until now are judged by the resulting votes.
      this.#picture.allResumed(this.#resumed, now);
      this.#judgeFrom = now.monotonic;
      this.#waitedMs = now.monotonic - this.#startedAt;
      this.confirmed.excuse();
    }
    if (told.is === 'reported' && isFirst && now.monotonic >= this.#judgeFrom) {
      this.confirmed.reported(told, this.#picture, this.#status, now);
    }
  }

  /** Judges the changes that time alone should have made by now. Returns the status that is expected then. */
  #judgeTime(now: Now): MonitorStatus {
    this.#violated('unannounced', this.confirmed.check(this.#status, this.#picture, now), now);
    this.#picture.decide(now);
    const { expected, expectedSince } = this.#picture;
    this.#judge(now, expectedSince);
    return expected;
  }

  /**
   * @param since instant at which the expected status should have begun, monotonic ms
   */
  #judge(now: Now, since: number): void {
    const { expected } = this.#picture;
    if (this.#status === expected || this.#picture.isInDoubt(now)) {
      this.#wrongSince = null;
      this.#picture.expected = this.#status;
      return;
    }
    this.#wrongSince ??= Math.max(since, this.#judgeFrom);
    // A timer may be late, and a commit.
    const slackMs = this.#hasStartedSince ? this.#agesDifferMs : IN_TIME_MS + this.#waitedMs;
    if (now.monotonic - this.#wrongSince <= slackMs) return;
    this.#violated('late', `the status is ${this.#status}, ${expected} since ${this.#wrongSince}`, now);
    // Told once; what follows is judged from here on.
    this.#picture.expected = this.#status;
    this.#wrongSince = null;
  }

  /** @param steps the statuses that were expected one after the other in this instant */
  #announcements({ announcements, status }: Seen, steps: ReadonlySet<MonitorStatus>, now: Now): void {
    this.#violated('announcement', this.channels.announced(announcements, steps), now);
    const isHeld = this.#holds.isHeld(now);
    const isTold = announcements.some(({ isClosure }) => !isClosure);
    if (isHeld && isTold) {
      this.#violated('announcement', 'a channel was told while a backlog is read', now);
    }
    if (isTold && this.#maintenance.isHeld(now)) {
      this.#violated('announcement', 'a channel was told in a maintenance window', now);
    }
    const missing = this.channels.missing(status);
    if (this.#isToldDue(now)) this.#violated('announcement', missing, now);
    this.#heldBack = missing;
  }

  /** "An outage that lasts past the window is announced at once when it ends", and not with the next check. */
  #judgeHeldBack(now: Now): void {
    const isDue = this.#holds.isOver(now, 2 * IN_TIME_MS) && this.#maintenance.isOver(now, 2 * IN_TIME_MS);
    if (isDue && this.#heldBack !== null)
      this.#violated('announcement', `${this.#heldBack}, and nothing holds it any more`, now);
    this.#heldBack = null;
  }

  /** Whether every channel must know the status now. */
  #isToldDue(now: Now): boolean {
    return (
      now.monotonic >= this.#judgeFrom &&
      this.#holds.isOver(now, IN_TIME_MS) &&
      this.#maintenance.isOver(now, IN_TIME_MS)
    );
  }

  /** @param steps the statuses that were expected one after the other in this instant */
  #transition(transition: Transition, steps: ReadonlySet<MonitorStatus>, now: Now): void {
    const { from, to, reason } = transition;
    this.#violated('history', this.#history.add(transition, now.slot), now);
    if (this.#isTargetFine && (to === 'error' || to === 'degraded')) {
      this.#violated('own-failure', `${from} → ${to} (${reason})`, now);
    }
    if (steps.has(to) || this.#picture.isInDoubt(now)) return;
    const later = { ...now, age: now.age + this.#agesDifferMs };
    if (this.#hasStartedSince && to === 'unknown' && this.#picture.isTooOldAt(later)) return;
    this.#violated('unfounded', `${from} → ${to} (${reason}), expected ${this.#picture.expected}`, now);
  }

  get #agesDifferMs(): number {
    return Math.max(AGES_DIFFER_MS, this.#picture.freshMs * AGES_DIFFER_PART);
  }

  #violated(kind: ViolationKind, text: string | null, now: Now): void {
    if (text !== null) this.violations.push({ kind, at: now.monotonic, text });
  }
}

/** Regions may have gone, or all votes have ended. */
function endsVotes({ before, after }: Told & { is: 'declared' }): boolean {
  return (
    after?.active !== true || after.version !== before?.version || after.regions !== (before?.regions ?? null)
  );
}
