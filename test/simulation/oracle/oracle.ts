import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Announcement, IncidentEnd, IncidentStart, Now, Told, Transition, Window } from '../told.ts';
import { AlertFacts } from './alert-facts.ts';
import { Channels } from './channels.ts';
import { ConfirmedOutages, IN_TIME_MS } from './confirmed.ts';
import { History } from './history.ts';
import { Holds } from './holds.ts';
import { Incidents } from './incidents.ts';
import { Maintenance } from './maintenance.ts';
import type { Moment } from './moment.ts';
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
  /** A slot was not given in time, or a region was left out of the first one. */
  'slots',
  /** A former leader wrote or sent something, an alert got a second id, or a result was lost. */
  'leaders',
] as const;
export type ViolationKind = (typeof VIOLATIONS)[number];
export type Violation = { readonly kind: ViolationKind; readonly at: number; readonly text: string };

/** `electable` answers the regions that had an agent within 24 h, which is never changed afterwards. */
export type ElectableRegions = { electable(): ReadonlySet<Region> };

/** What the service shows after a commit. */
export type Seen = {
  readonly status: MonitorStatus;
  readonly transitions: readonly Transition[];
  readonly announcements: readonly Announcement[];
  /** Incidents that began and ended; undefined: nothing is told of them. */
  readonly opened?: readonly IncidentStart[];
  readonly closed?: readonly IncidentEnd[];
  /** When the commit before it had ended, monotonic ms: nothing that came since waited for it. */
  readonly freeSince?: number;
};

/** What was evaluated together. */
type Step = {
  /** The statuses that were expected one after the other. */
  readonly steps: ReadonlySet<MonitorStatus>;
  /** The channels whose incident people have ended. */
  readonly ended: ReadonlySet<number>;
  /** Those of them that are linked again. */
  readonly relinked: ReadonlySet<number>;
  /** Whether announcements were held throughout. */
  readonly isHeld: boolean;
};

const NOTHING = { windows: new Map<number, Window>(), monitor: null };

/**
 * Watches a world. It gets the inputs of the evaluation and checks the outputs. The sentences of the
 * decisions about verdicts (0151, 0152) say which outputs are right.
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
  readonly #incidents = new Incidents();
  readonly #alertFacts = new AlertFacts();
  readonly #picture: Picture;
  readonly #isTargetFine: boolean;
  #status: MonitorStatus = 'unknown';
  #wasClockSet = false;
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
  readonly #presence: ElectableRegions;
  /** Regions that had an agent within 24 h when the evaluation ended that is looked at. */
  #electable: ReadonlySet<Region> = new Set();
  /** When the commit before the last had ended, monotonic ms. */
  #freeSince = Number.NEGATIVE_INFINITY;

  /**
   * @param isTargetFine whether only failures of our own can occur in the world
   */
  constructor(presence: ElectableRegions, { isTargetFine }: { readonly isTargetFine: boolean }) {
    this.#presence = presence;
    this.#picture = new Picture({ hadAgentWithin24h: (region) => this.#electable.has(region) });
    this.#isTargetFine = isTargetFine;
  }

  /** What is true now. It is asked for when an evaluation ends. */
  moment(now: Now): Moment {
    const holds = this.#holds;
    return {
      electable: this.#presence.electable(),
      isHeld: holds.isHeld(now),
      isOver: holds.isOver(now, IN_TIME_MS),
      wasOver: holds.isOver(now, 2 * IN_TIME_MS),
    };
  }

  /** The service has read a result, and will evaluate it. */
  read(result: CheckResult, now: Now): void {
    this.#holds.read(result, now);
  }

  /**
   * The service ended. Until it has resumed, nothing is expected of it.
   *
   * @param evaluated when what is durable was evaluated last; null: nothing is
   */
  ended(evaluated: { readonly now: Now; readonly moment: Moment } | null): void {
    if (evaluated !== null) {
      this.#electable = evaluated.moment.electable;
      this.#picture.ended(evaluated.now);
    }
    this.#judgeFrom = Number.POSITIVE_INFINITY;
    this.#wrongSince = null;
    this.#heldBack = null;
    this.#maintenance.forget();
  }

  /**
   * @param isBehind whether recorded slots lie more than 60 s ahead of its clock
   * @param declared the rows of the maintenance windows and of the monitor, whose effects may not be applied
   */
  started(
    now: Now,
    isBehind: boolean,
    { windows, monitor }: { windows: ReadonlyMap<number, Window>; monitor: LiveMonitor | null } = NOTHING,
  ): void {
    this.#electable = this.moment(now).electable;
    this.#maintenance.setAll(windows);
    this.#freeSince = Number.NEGATIVE_INFINITY;
    this.#picture.busyUntil = this.#freeSince;
    // A stored age follows from the period only as long as the slots' clock runs with the system's.
    if (this.#picture.countBy(monitor, now) && this.#wasClockSet) this.#picture.votes.doubtAll();
    this.#picture.restarted(now, isBehind, this.#wasClockSet);
    this.#history.restarted(now.slot);
    this.#holds.forget();
    this.#history.mayLieAhead = this.#wasClockSet;
    this.#incidents.restarted(now.slot);
    this.#startedAt = now.age;
  }

  /** The system's clock was set. */
  clockWasSet(): void {
    this.#wasClockSet = true;
  }

  /**
   * Takes what was evaluated at an instant: `told` is committed, and `seen` is what the service shows after the commit.
   * The evaluation knew nothing that came later, so all of it is judged by the instant of the evaluation.
   */
  look(told: readonly Told[], seen: Seen, now: Now, moment = this.moment(now)): void {
    this.#electable = moment.electable;
    this.#freeSince = seen.freeSince ?? this.#freeSince;
    this.#picture.busyUntil = this.#freeSince;
    const isJudging = now.monotonic >= this.#judgeFrom;
    this.#maintenance.look(now, this.#freeSince);
    if (isJudging) this.#judgeHeldBack(now, moment);
    const tooFewAt = this.#wasClockSet ? null : this.#picture.tooFewAt(now);
    this.#picture.steps.clear();
    this.#picture.begins.length = 0;
    const steps = new Set([this.#picture.expected]);
    if (isJudging) steps.add(this.#judgeTime(now));
    steps.add(this.#picture.expected);
    let isHeld = this.#maintenance.isHeld(now);
    const ended = new Set<number>();
    const linked = new Map<number, ChannelKind | null>();
    for (const each of told) {
      this.#tell(each, now);
      steps.add(this.#picture.expected);
      this.#declared(each, ended, linked);
      isHeld = this.#maintenance.isHeld(now) && isHeld;
    }
    for (const step of this.#picture.steps) steps.add(step);
    this.#violated(
      'history',
      this.#history.ageingFault(seen.transitions, told, tooFewAt, this.#waitedMs),
      now,
    );
    for (const transition of seen.transitions) {
      this.#transition(transition, steps, now);
      steps.add(transition.to);
    }
    const relinked = new Set([...linked].flatMap(([channel, kind]) => (kind === null ? [] : [channel])));
    const isToldAnew = (of: number) =>
      relinked.has(of) && seen.announcements.findLast(({ channel }) => channel === of)?.isClosure === false;
    const over = [...ended].filter((channel) => !isToldAnew(channel));
    this.#incidentsAndFacts(told, seen, over, now);
    this.#announcements(seen, { steps, ended, relinked, isHeld: isHeld || moment.isHeld }, now);
    for (const [channel, kind] of linked) this.channels.become(channel, kind);
    this.#status = seen.status;
    const missing = this.channels.missing(seen.status);
    if (this.#isToldDue(now, moment)) this.#violated('announcement', missing, now);
    this.#heldBack = missing;
    if (now.monotonic >= this.#judgeFrom) this.#judge(now, now.monotonic);
  }

  /** Something was evaluated and committed that nobody was told of. Time may have decided slots by then. */
  passed(now: Now, { electable }: Moment, freeSince: number): void {
    if (now.monotonic < this.#judgeFrom) return;
    this.#electable = electable;
    this.#picture.busyUntil = freeSince;
    this.#picture.decide(now);
  }

  /** The world is over. */
  finish(from: number, now: Now, freeSince = this.#freeSince): void {
    const moment = this.moment(now);
    this.#electable = moment.electable;
    this.#freeSince = freeSince;
    if (freeSince < Number.POSITIVE_INFINITY) {
      if (now.monotonic >= this.#judgeFrom) this.#judgeTime(now);
      if (this.#isToldDue(now, moment))
        this.#violated('announcement', this.channels.missing(this.#status), now);
    }
    this.#violated('history', this.#history.daysFault(from, now.slot), now);
  }

  /**
   * Takes what people have declared.
   *
   * @param ended gets the channels whose incident people have ended
   * @param linked gets the channels that are unlinked (null), and perhaps linked again
   */
  #declared(told: Told, ended: Set<number>, linked: Map<number, ChannelKind | null>): void {
    switch (told.is) {
      case 'linked':
        this.channels.linked(told.channel, told.kind);
        // A channel that was linked already stays what it is.
        if (linked.has(told.channel)) linked.set(told.channel, told.kind);
        return;
      case 'unlinked':
        ended.add(told.channel);
        linked.set(told.channel, null);
        return;
      case 'window':
        this.#maintenance.set(told.number, told.window);
        return;
      case 'declared':
        if (told.after?.active !== true && told.before?.active)
          for (const channel of this.channels.all()) ended.add(channel);
    }
  }

  #tell(told: Told, now: Now): void {
    if (told.is === 'declared' && endsVotes(told)) this.confirmed.excuse();
    if (told.is === 'declared' && told.before === null) this.#history.declared(now.slot);
    const isFirst = told.is !== 'reported' || !this.#picture.isRecorded(told.region, told.result.slot);
    this.#picture.tell(told, now);
    if (told.is === 'all-resumed') {
      // The results that were read until now are judged by the resulting votes.
      this.#picture.allResumed(now);
      this.#judgeFrom = now.monotonic;
      this.#waitedMs = now.age - this.#startedAt;
      this.confirmed.excuse();
    }
    if (told.is === 'reported' && isFirst) {
      const isJudging = now.monotonic >= this.#judgeFrom;
      this.confirmed.reported(told, this.#picture, this.#status, now, { isJudging });
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
    const isRight = this.#status === expected || this.#picture.makesAgain(this.#status, now);
    if (isRight || this.#picture.isInDoubt(now)) {
      this.#wrongSince = null;
      this.#picture.expected = this.#status;
      // In doubt, what has aged may make it unknown at any time from now on.
      if (!isRight) this.#picture.votes.lookAgain();
      return;
    }
    this.#wrongSince = Math.max(this.#wrongSince ?? since, this.#judgeFrom, this.#freeSince);
    // A timer may be late, and a commit.
    const slackMs = this.#waitedMs + IN_TIME_MS;
    if (now.monotonic - this.#wrongSince <= slackMs) return;
    this.#violated('late', `the status is ${this.#status}, ${expected} since ${this.#wrongSince}`, now);
    // Told once; what follows is judged from here on.
    this.#picture.expected = this.#status;
    this.#wrongSince = null;
  }

  #announcements({ announcements }: Seen, { steps, ended, relinked, isHeld }: Step, now: Now): void {
    this.#violated('announcement', this.channels.announced(announcements, steps, ended, relinked), now);
    const isTold = announcements.some(({ isClosure }) => !isClosure);
    if (isHeld && isTold)
      this.#violated('announcement', 'a channel was told in a maintenance window, or of a backlog', now);
  }

  /** @param ended the channels whose incident people have ended, and that know of no newer one */
  #incidentsAndFacts(told: readonly Told[], seen: Seen, ended: readonly number[], now: Now): void {
    const { opened, closed, announcements } = seen;
    if (opened === undefined || closed === undefined) return;
    this.#incidents.isDateUnknown =
      this.#picture.hasRows && (this.#wasClockSet || this.#picture.isInDoubt(now));
    this.#violated(
      'history',
      this.#incidents.add({ ...seen, opened, closed, begins: this.#picture.begins }, told, now),
      now,
    );
    for (const each of told) if (each.is === 'reported') this.#alertFacts.reported(each);
    const known = {
      begins: this.#history.beginsOf(seen.transitions),
      beginOf: (key: string) => this.#incidents.beginOf(key),
      quorum: this.#picture.monitor?.quorum ?? 'majority',
      electorate: this.#picture.electorate(),
      hasRows: this.#picture.hasRows,
    };
    for (const each of announcements)
      this.#violated('announcement', this.#alertFacts.fault(each, known), now);
    for (const channel of ended) this.#alertFacts.forget(channel);
  }

  /** "An outage that lasts past the window is announced at once when it ends", and not with the next check. */
  #judgeHeldBack(now: Now, { wasOver }: Moment): void {
    const wasFree = now.monotonic - this.#freeSince > 2 * IN_TIME_MS;
    const isDue = wasFree && wasOver && this.#maintenance.isOver(now, 2 * IN_TIME_MS);
    if (isDue && this.#heldBack !== null)
      this.#violated('announcement', `${this.#heldBack}, and nothing holds it any more`, now);
    this.#heldBack = null;
  }

  /** Whether every channel must know the status now. What a start has held back is told after it, with the next commit. */
  #isToldDue(now: Now, { isOver }: Moment): boolean {
    return now.monotonic > this.#judgeFrom && isOver && this.#maintenance.isOver(now, IN_TIME_MS);
  }

  /** @param steps the statuses that were expected one after the other in this instant */
  #transition(transition: Transition, steps: ReadonlySet<MonitorStatus>, now: Now): void {
    const { from, to, reason } = transition;
    this.#violated('history', this.#beginFault(transition, now), now);
    this.#violated('history', this.#history.add(transition, now.slot), now);
    if (this.#isTargetFine && (to === 'error' || to === 'degraded')) {
      this.#violated('own-failure', `${from} → ${to} (${reason})`, now);
    }
    if (steps.has(to) || this.#picture.isInDoubt(now)) return;
    this.#violated('unfounded', `${from} → ${to} (${reason}), expected ${this.#picture.expected}`, now);
  }

  /** "The incident's begin is the first slot of the row; uptime counts from there", or since it was unknown. */
  #beginFault({ to, at, from }: Transition, now: Now): string | null {
    const begins = this.#picture.begins.filter(({ status }) => status === to);
    if (begins.length === 0 || this.#wasClockSet || this.#picture.isInDoubt(now)) return null;
    // Ages and instants are not whole.
    const isIn = begins.some((span) => span.from - 1 <= at && at <= span.until + 1);
    return isIn || at === this.#history.at
      ? null
      : `${from} → ${to} at ${at}, the row began at ${begins[0]?.from}`;
  }

  /** Takes what is wrong with the slots that are given. */
  slots(text: string, at: number): void {
    this.violations.push({ kind: 'slots', at, text });
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
