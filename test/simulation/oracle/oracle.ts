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
  /** An outage that enough failures about one slot confirmed was not announced in time. */
  'unannounced',
  /** The status did not become the status that the votes make, or became it too late. */
  'late',
  /** The status changed to a status that the votes do not make. */
  'unfounded',
  /** A verdict followed from failures of svc alone. */
  'own-failure',
  /** A channel was told a status twice, or a wrong status, or was not told the status. */
  'announcement',
  /** A change of status in the history does not follow the change before it, or the times do not add up. */
  'history',
  /** A slot was not given in time, or was given to too few regions. */
  'slots',
  /** A former leader wrote or sent something, an alert got a second id, or a result was lost. */
  'leaders',
] as const;
export type ViolationKind = (typeof VIOLATIONS)[number];
export type Violation = { readonly kind: ViolationKind; readonly at: number; readonly text: string };

/** `electable` returns the regions that had an agent within 24 h. The returned set never changes. */
export type ElectableRegions = { electable(): ReadonlySet<Region> };

/** The state and the events that the service shows after a commit. */
export type Seen = {
  readonly status: MonitorStatus;
  readonly transitions: readonly Transition[];
  readonly announcements: readonly Announcement[];
  /** Incidents that began, and incidents that ended; undefined: they are not shown. */
  readonly opened?: readonly IncidentStart[];
  readonly closed?: readonly IncidentEnd[];
  /**
   * Since when the service was free to make this commit, monotonic ms: usually the end of the previous commit.
   * Events after this instant did not wait for the service.
   */
  readonly freeSince?: number;
};

/** The expectations about one evaluation. */
type Step = {
  /** The statuses that were expected one after the other. */
  readonly steps: ReadonlySet<MonitorStatus>;
  /** The channels whose incident was ended by a change of the declaration. */
  readonly ended: ReadonlySet<number>;
  /** The channels among `ended` that are linked again. */
  readonly relinked: ReadonlySet<number>;
  /** Whether announcements were held during the whole evaluation. */
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
  /**
   * What the channels had not been told at the end of the last look,
   * because announcements were held; null: they knew the status.
   */
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
   * Time by which votes may age later because of the last restart, ms. A slot without a
   * report at a restart is unknown afterwards (decision 0157). A report that is read at
   * the start then waits until dispatch has resumed, instead of becoming a vote at once.
   */
  #waitedMs = 0;
  /** Instant since which the status differs from the expected one, monotonic ms; null: it does not differ. */
  #wrongSince: number | null = null;
  /**
   * Instant before which nothing is judged, because the service is down or has just started, monotonic ms.
   */
  #judgeFrom = 0;
  readonly #presence: ElectableRegions;
  /** Regions that had an agent within 24 h at the end of the evaluation that is judged. */
  #electable: ReadonlySet<Region> = new Set();
  /**
   * Since when the service was free to make the evaluation that is judged, monotonic ms: usually the end of the
   * commit before it. -Infinity: since the start. Infinity: it was busy or frozen at the end of the world.
   */
  #freeSince = Number.NEGATIVE_INFINITY;

  /** @param isTargetFine whether only svc itself can fail in the world */
  constructor(presence: ElectableRegions, { isTargetFine }: { readonly isTargetFine: boolean }) {
    this.#presence = presence;
    this.#picture = new Picture({ hadAgentWithin24h: (region) => this.#electable.has(region) });
    this.#isTargetFine = isTargetFine;
  }

  /** Returns the facts of this instant. Call it when an evaluation ends. */
  moment(now: Now): Moment {
    const holds = this.#holds;
    return {
      electable: this.#presence.electable(),
      isHeld: holds.isHeld(now),
      isOver: holds.isOver(now, IN_TIME_MS),
      wasOver: holds.isOver(now, 2 * IN_TIME_MS),
    };
  }

  /** Records that the service has read a result, and will evaluate it. */
  read(result: CheckResult, now: Now): void {
    this.#holds.read(result, now);
  }

  /**
   * Records that the service ended. Nothing is expected of it until it has resumed.
   *
   * @param evaluated end of the last evaluation whose commit is durable; null: there is none
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
   * Records that the service has started.
   *
   * @param isBehind whether recorded slots lie more than 60 s ahead of its clock
   * @param declared the rows of the maintenance windows and
   *   of the monitor. Their effects may not be applied yet
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
    // The age of a stored vote follows from the period only if
    // the slots' clock runs at the speed of the system's clock.
    if (this.#picture.countBy(monitor, now) && this.#wasClockSet) this.#picture.votes.doubtAll();
    this.#picture.restarted(now, isBehind, this.#wasClockSet);
    this.#history.restarted(now.slot);
    this.#holds.forget();
    this.#history.mayLieAhead = this.#wasClockSet;
    this.#incidents.restarted(now.slot);
    this.#startedAt = now.age;
  }

  /** Records that the system's clock was set. */
  clockWasSet(): void {
    this.#wasClockSet = true;
  }

  /**
   * Judges one evaluation. `told`: its inputs, which are committed. `seen`:
   * what the service shows after the commit. The evaluation knew nothing that
   * came later, so all of it is judged by the instant of the evaluation.
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
    this.#picture.rules.length = 0;
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

  /**
   * Records an evaluation that was committed without an
   * input or an event. Time may have decided slots by then.
   */
  passed(now: Now, { electable }: Moment, freeSince: number): void {
    if (now.monotonic < this.#judgeFrom) return;
    this.#electable = electable;
    this.#picture.busyUntil = freeSince;
    this.#picture.decide(now);
  }

  /** Judges the world at its end. */
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
   * Records a change that people have declared.
   *
   * @param ended gets the channels whose incident was ended by the change
   * @param linked gets the channels that were unlinked (null), with their kinds if they are linked again
   */
  #declared(told: Told, ended: Set<number>, linked: Map<number, ChannelKind | null>): void {
    switch (told.is) {
      case 'linked':
        this.channels.linked(told.channel, told.kind);
        // A channel that was linked already keeps its kind.
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
      // The votes now contain all results that were read during the start, and are judged from here on.
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
   * Compares the status with the expected one.
   *
   * @param since instant at which the expected status should have begun, monotonic ms
   */
  #judge(now: Now, since: number): void {
    const { expected } = this.#picture;
    const isRight = this.#status === expected || this.#picture.makesAgain(this.#status, now);
    if (isRight || this.#picture.isInDoubt(now)) {
      this.#wrongSince = null;
      this.#picture.expected = this.#status;
      // If votes are in doubt, aged votes may make the status `unknown` at any time from now on.
      if (!isRight) this.#picture.votes.lookAgain();
      return;
    }
    this.#wrongSince = Math.max(this.#wrongSince ?? since, this.#judgeFrom, this.#freeSince);
    // A timer and a commit may be late.
    const slackMs = this.#waitedMs + IN_TIME_MS;
    if (now.monotonic - this.#wrongSince <= slackMs) return;
    this.#violated('late', `the status is ${this.#status}, ${expected} since ${this.#wrongSince}`, now);
    // The violation is reported once. From here on, the present status is expected.
    this.#picture.expected = this.#status;
    this.#wrongSince = null;
  }

  #announcements({ announcements }: Seen, { steps, ended, relinked, isHeld }: Step, now: Now): void {
    this.#violated('announcement', this.channels.announced(announcements, steps, ended, relinked), now);
    const isTold = announcements.some(({ isClosure }) => !isClosure);
    if (isHeld && isTold)
      this.#violated('announcement', 'a channel was told in a maintenance window, or of a backlog', now);
  }

  /**
   * Judges the incidents of an evaluation, and the facts in its alerts.
   *
   * @param ended the channels whose incident was ended by a change
   *   of the declaration, and that were told of no newer incident
   */
  #incidentsAndFacts(told: readonly Told[], seen: Seen, ended: readonly number[], now: Now): void {
    const { opened, closed, announcements } = seen;
    if (opened === undefined || closed === undefined) return;
    const rules = [...this.#picture.rules, this.#picture.rule];
    this.#incidents.isDateUnknown =
      rules.some(({ hasRows }) => hasRows) && (this.#wasClockSet || this.#picture.isInDoubt(now));
    this.#violated(
      'history',
      this.#incidents.add({ ...seen, opened, closed, begins: this.#picture.begins }, told, now),
      now,
    );
    for (const each of told) if (each.is === 'reported') this.#alertFacts.reported(each);
    const known = {
      begins: this.#history.beginsOf(seen.transitions),
      beginOf: (key: string) => this.#incidents.beginOf(key),
      rules,
    };
    for (const each of announcements)
      this.#violated('announcement', this.#alertFacts.fault(each, known), now);
    for (const channel of ended) this.#alertFacts.forget(channel);
  }

  /**
   * Judges announcements that were held: "an outage that lasts past the
   * window is announced at once when it ends", and not at the next check.
   */
  #judgeHeldBack(now: Now, { wasOver }: Moment): void {
    const wasFree = now.monotonic - this.#freeSince > 2 * IN_TIME_MS;
    const isDue = wasFree && wasOver && this.#maintenance.isOver(now, 2 * IN_TIME_MS);
    if (isDue && this.#heldBack !== null)
      this.#violated('announcement', `${this.#heldBack}, and nothing holds it any more`, now);
    this.#heldBack = null;
  }

  /**
   * Whether every channel must know the status now. A status that was held
   * during a start is announced with the next commit after the start.
   */
  #isToldDue(now: Now, { isOver }: Moment): boolean {
    return now.monotonic > this.#judgeFrom && isOver && this.#maintenance.isOver(now, IN_TIME_MS);
  }

  /**
   * Judges a change of status.
   *
   * @param steps the statuses that were expected one after the other in this instant
   */
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

  /**
   * Returns what is wrong with the date of a change: "the incident's begin is the first slot
   * of the row; uptime counts from there". The date may also be that of the previous change.
   */
  #beginFault({ to, at, from }: Transition, now: Now): string | null {
    const begins = this.#picture.begins.filter(({ status }) => status === to);
    if (begins.length === 0 || this.#wasClockSet || this.#picture.isInDoubt(now)) return null;
    // Ages and instants are not whole milliseconds.
    const isIn = begins.some((span) => span.from - 1 <= at && at <= span.until + 1);
    return isIn || at === this.#history.at
      ? null
      : `${from} → ${to} at ${at}, the row began at ${begins[0]?.from}`;
  }

  /** Adds a violation about the slots that are given. */
  slots(text: string, at: number): void {
    this.violations.push({ kind: 'slots', at, text });
  }

  #violated(kind: ViolationKind, text: string | null, now: Now): void {
    if (text !== null) this.violations.push({ kind, at: now.monotonic, text });
  }
}

/** Whether the change ends votes: of all regions, or of regions that are not declared any more. */
function endsVotes({ before, after }: Told & { is: 'declared' }): boolean {
  return (
    after?.active !== true || after.version !== before?.version || after.regions !== (before?.regions ?? null)
  );
}
