import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/domain/monitor.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { Now, Told } from '../told.ts';
import {
  freshMs,
  isTooFew,
  PLAIN,
  type Question,
  type Reading,
  statusOf,
  type Vote,
  votableMs,
} from './rule.ts';

/** A slot that is not decided. */
type OpenSlot = {
  readonly slot: number;
  /** Monotonic ms: one period has passed. */
  readonly endsAt: number;
  /** null: nobody has said, so all of the electorate may have been. */
  given: Set<Region> | null;
  answered: Set<Region>;
  readonly reports: Vote[];
  /** The service has started again since: whether and when it was decided may not be known to it. */
  isOfRestart: boolean;
};

export type RegionsWithAgents = { hadAgentWithin24h(region: Region): boolean };

/**
 * What the design says about a monitor's slots and votes, one sentence after the other, kept as plainly as
 * possible. It knows what the evaluation was told, and nothing of how it works.
 */
export class Picture {
  monitor: LiveMonitor | null = null;
  /** The status that there should be, since an instant (monotonic ms). */
  expected: MonitorStatus = 'unknown';
  expectedSince = 0;
  /** The expected status before that. */
  readonly votes = new Map<Region, Vote>();
  readonly #open: OpenSlot[] = [];
  readonly #presence: RegionsWithAgents;
  /** What was recorded: of a slot and region the first that is not `not_run` stays. */
  readonly #recorded = new Set<string>();
  /** Regions that were given a slot: those of decided ones, and of open ones. */
  readonly #entered = new Set<Region>();
  readonly #given = new Set<Region>();
  #decidedSlot = 0;
  /** What is about this slot or an older one never votes: votes were ended since. */
  endedSlot = 0;
  /** When dispatch last resumed, monotonic ms. */
  #upSince = 0;
  /** Newest slot with a vote at the last restart. */
  #newestVote = 0;
  #seen: Now = { monotonic: 0, slot: 0, age: 0 };
  /** Before this nothing ages, unless the electorate changes. */
  #agesAt = Number.NEGATIVE_INFINITY;
  /** When each vote was reported, as its age. */
  readonly #reportedAt = new Map<Region, number>();

  constructor(presence: RegionsWithAgents) {
    this.#presence = presence;
  }

  get isActive(): boolean {
    return this.monitor?.active === true;
  }

  /** The slot has an outcome of the region. */
  isRecorded(region: Region, slot: number): boolean {
    return this.#recorded.has(`${region} ${slot}`);
  }

  tell(told: Told, now: Now): void {
    switch (told.is) {
      case 'opened':
        this.#opened(told, now);
        break;
      case 'excused':
        if (this.#isAbout(told.version, told.region)) this.#answered(told.slot, told.region, now);
        break;
      case 'reported':
        this.#reported(told.region, told.result, told.isOfferedAgain, now);
        break;
      case 'resumed':
        if (this.isActive && !this.#isOver(told.slot)) {
          const open = this.#openSlot(told.slot, now);
          open.given = new Set([...open.answered, ...told.waitedFor]);
        }
        break;
      case 'all-resumed':
        break;
      case 'declared':
        this.#declared(told.before, told.after, now);
        break;
    }
    this.decide(now);
  }

  /** After a restart: only what was resumed is waited for. */
  allResumed(resumed: ReadonlySet<number>, now: Now): void {
    for (const open of this.#open) if (!resumed.has(open.slot)) open.given = new Set(open.answered);
    this.#upSince = now.monotonic;
    if (this.monitor !== null) this.#renew(this.monitor, now);
    this.decide(now);
  }

  /**
   * A restart reads votes back from results, whose instants are those of their recording; whether the newest
   * slot was decided is not known then, and it may be decided once more.
   */
  restarted(now: Now): void {
    const { monitor } = this;
    this.#upSince = Number.POSITIVE_INFINITY;
    // What agents abstained from is not read back, and dispatch has yet to say to whom slots were given.
    for (const open of this.#open) {
      open.isOfRestart = true;
      open.given = null;
      open.answered = new Set(open.reports.map(({ region }) => region));
    }
    if (monitor === null) return;
    const freshFor = freshMs(monitor.periodMs, monitor.longestCheckMs);
    this.#newestVote = Math.max(0, ...[...this.votes.values()].map(({ slot }) => slot));
    for (const vote of this.votes.values()) {
      const reported = (this.#reportedAt.get(vote.region) ?? 0) + freshFor;
      // Of a clock that was set back since a vote counts for no longer.
      const freshUntil = Math.min(vote.freshUntil, now.age + freshFor);
      const surelyFreshUntil = Math.min(vote.surelyFreshUntil, reported, freshUntil);
      this.votes.set(vote.region, { ...vote, freshUntil, surelyFreshUntil });
    }
  }

  /** The votes of the slot that was the newest at the restart may have been cast anew. */
  #renew(monitor: LiveMonitor, now: Now): void {
    const { periodMs, longestCheckMs } = monitor;
    const freshUntil = now.age + freshMs(periodMs, longestCheckMs);
    for (const vote of this.votes.values()) {
      if (isTooOld(vote.slot, monitor, now)) continue;
      if (vote.slot === this.#newestVote) this.votes.set(vote.region, { ...vote, freshUntil });
    }
  }

  /** Time has passed: slots whose period is over are decided, and votes age. */
  decide(now: Now): void {
    for (let index = this.#nextDecided(now); index >= 0; index = this.#nextDecided(now)) {
      const [open] = this.#open.splice(index, 1) as [OpenSlot];
      this.#decidedSlot = Math.max(this.#decidedSlot, open.slot);
      for (const region of open.given ?? open.answered) this.#entered.add(region);
      this.#agesAt = Number.NEGATIVE_INFINITY;
      // What its end decides is decided then, whenever somebody looks.
      const endedMs = Math.max(0, now.monotonic - this.#endOf(open));
      this.#cast(open.reports, ago(now, endedMs), open.isOfRestart);
    }
    this.#grow(now);
  }

  /** All statuses that the sentences allow now, where one of them leaves room. */
  allowed(now: Now, standing: MonitorStatus): Set<MonitorStatus> {
    const allowed = new Set<MonitorStatus>();
    for (const electorate of [this.#electorate(this.#entered), this.#electorate(this.#given)]) {
      for (const votes of this.#votesAllowed(now)) {
        for (const reading of READINGS) {
          const question = { votes, electorate, age: now.age, standing };
          allowed.add(statusOf(question, reading));
          if (isTooFew(question, reading)) allowed.add('unknown');
          // "Ageing alone changes status only to unknown": what was right when the votes were cast stays.
          else if (statusOf({ ...question, age: Number.NEGATIVE_INFINITY }, reading) === standing) {
            allowed.add(standing);
          }
        }
      }
    }
    return allowed;
  }

  /** The votes; and where one of them may have aged or not, so that open slots may be certain, those that are to come. */
  *#votesAllowed(now: Now): Generator<Vote[]> {
    const votes = [...this.votes.values()];
    yield votes;
    const isRoom = votes.some((vote) => vote.surelyFreshUntil <= now.age && now.age < vote.freshUntil);
    if (!isRoom) return;
    const cast = new Map(this.votes);
    for (const open of this.#open) for (const vote of open.reports) this.#castInto(cast, vote, now);
    yield [...cast.values()];
  }

  /** "The monitor's regions that had an agent within 24 h", each from the first slot it was given. */
  electorate(): Set<Region> {
    return this.#electorate(this.#entered);
  }

  /** All that may be in the electorate, whatever slots they were given. */
  widestElectorate(): Set<Region> {
    return this.#electorate(new Set(this.monitor?.regions ?? REGIONS));
  }

  #electorate(given: ReadonlySet<Region>): Set<Region> {
    const declared = this.monitor?.regions ?? null;
    const electorate = new Set<Region>();
    for (const region of given) {
      if (declared !== null && !declared.includes(region)) continue;
      if (this.#presence.hadAgentWithin24h(region)) electorate.add(region);
    }
    return electorate;
  }

  #isAbout(version: number, region: Region): boolean {
    const { monitor } = this;
    if (monitor === null || !monitor.active || monitor.version !== version) return false;
    return monitor.regions === null || monitor.regions.includes(region);
  }

  #opened({ slot, version, regions }: Told & { is: 'opened' }, now: Now): void {
    if (!this.isActive || this.monitor?.version !== version || this.#isOver(slot)) return;
    const open = this.#openSlot(slot, now);
    open.given = new Set([...(open.given ?? open.answered), ...regions]);
    for (const region of regions) this.#given.add(region);
  }

  /** Decided, or it never will be. */
  #isOver(slot: number): boolean {
    return (
      slot <= this.endedSlot || (slot <= this.#decidedSlot && !this.#open.some((open) => open.slot === slot))
    );
  }

  #openSlot(slot: number, now: Now): OpenSlot {
    const known = this.#open.find((open) => open.slot === slot);
    if (known !== undefined) return known;
    const periodMs = this.monitor?.periodMs ?? 0;
    const endsAt = now.monotonic + Math.min(periodMs, slot + periodMs - now.slot);
    const open: OpenSlot = {
      slot,
      endsAt,
      given: null,
      answered: new Set(),
      reports: [],
      isOfRestart: this.#upSince === Number.POSITIVE_INFINITY,
    };
    this.#open.push(open);
    this.#open.sort((a, b) => a.slot - b.slot);
    return open;
  }

  /** "`not_run`, also a second one, answers the slot but is no vote." */
  #answered(slot: number, region: Region, now: Now): void {
    if (!this.#isOver(slot)) this.#openSlot(slot, now).answered.add(region);
  }

  #reported(region: Region, result: CheckResult, isOfferedAgain: boolean, now: Now): void {
    const { monitor } = this;
    const { slot, version, outcome } = result;
    const key = `${region} ${slot}`;
    // Given before the clock was set back: such slots are set aside.
    if (slot > now.slot + SET_ASIDE_MS) return;
    if (this.#recorded.has(key)) return;
    if (outcome !== 'not_run') this.#recorded.add(key);
    if (monitor === null || !this.#isAbout(version, region) || slot <= this.endedSlot) return;
    if (outcome === 'not_run') {
      if (!isOfferedAgain) this.#answered(slot, region, now);
      return;
    }
    if (isTooOld(slot, monitor, now)) return;
    const freshUntil = now.age + freshMs(monitor.periodMs, monitor.longestCheckMs);
    const vote: Vote = {
      region,
      outcome,
      slot,
      freshUntil,
      surelyFreshUntil: freshUntil,
      downFrom: slot,
      surelyDownFrom: slot,
      endedAt: slot + tookMs(result),
      surelyEndedAt: Math.min(slot + tookMs(result), Math.max(slot, now.slot)),
      heardAt: now.slot,
    };
    this.#given.add(region);
    if (!this.#isOver(slot)) {
      const open = this.#openSlot(slot, now);
      open.answered.add(region);
      open.reports.push(vote);
      return;
    }
    // "A report that comes after its slot was decided becomes its region's vote at once."
    this.#entered.add(region);
    this.#cast([vote], now);
  }

  /** A service that was down waits until it has read what was reported meanwhile. */
  #endOf({ endsAt }: OpenSlot): number {
    return Math.max(endsAt, this.#upSince);
  }

  #nextDecided(now: Now): number {
    return this.#open.findIndex((open) => this.#isDecided(open, now));
  }

  /** "When every region given it has answered, or the missing ones cannot change the outcome, or one period has passed." */
  #isDecided(open: OpenSlot, now: Now): boolean {
    if (now.monotonic >= this.#endOf(open)) return true;
    const given = open.given ?? new Set([...this.#electorate(this.#given), ...open.answered]);
    const missing = [...given].filter((region) => !open.answered.has(region));
    return missing.length === 0 || this.#isCertain(open, given, missing, now);
  }

  /** Of all that the missing regions may say, the extremes: all pass, all fail, all abstain with their votes kept or aged. */
  #isCertain(open: OpenSlot, given: ReadonlySet<Region>, missing: readonly Region[], now: Now): boolean {
    const electorate = this.#electorate(new Set([...this.#entered, ...given]));
    // More than half may all pass, and may all fail together.
    if (missing.filter((region) => electorate.has(region)).length > electorate.size / 2) return false;
    const cast = new Map(this.votes);
    for (const vote of open.reports) this.#castInto(cast, vote, now);
    const statusWith = (extreme: Extreme) => {
      const votes = new Map(cast);
      for (const region of missing) {
        if (extreme === 'aged') votes.delete(region);
        else if (extreme !== 'kept') this.#castInto(votes, supposed(region, extreme, open.slot), now);
      }
      return statusOf(
        { votes: [...votes.values()], electorate, age: now.age, standing: this.expected },
        PLAIN,
      );
    };
    const status = statusWith('passed');
    return EXTREMES.every((extreme) => statusWith(extreme) === status);
  }

  /** @param isOfRestart they may have become votes when they were reported */
  #cast(news: readonly Vote[], now: Now, isOfRestart = false): void {
    const { monitor } = this;
    if (monitor === null || news.length === 0) return;
    const freshUntil = now.age + freshMs(monitor.periodMs, monitor.longestCheckMs);
    this.#agesAt = Math.min(this.#agesAt, freshUntil);
    let isNew = false;
    for (const vote of news) {
      // A service that was down may come to it late.
      if (isTooOld(vote.slot, monitor, now)) continue;
      const surelyFreshUntil = isOfRestart ? vote.surelyFreshUntil : freshUntil;
      if (!this.#castInto(this.votes, { ...vote, freshUntil, surelyFreshUntil }, now)) continue;
      this.#reportedAt.set(vote.region, now.age - (now.slot - vote.heardAt));
      isNew = true;
    }
    if (isNew) this.#judge(now);
  }

  /** "Never in place of a newer slot's vote." */
  #castInto(votes: Map<Region, Vote>, vote: Vote, now: Now): boolean {
    const before = votes.get(vote.region);
    if (before !== undefined && before.slot >= vote.slot) return false;
    votes.set(vote.region, vote.outcome === 'failed' ? downSince(vote, before, now) : vote);
    return true;
  }

  #judge(now: Now): void {
    this.#expect(statusOf(this.#question(now), PLAIN), now.monotonic);
  }

  /** "Ageing alone changes status only to unknown, dated at the expiry." */
  #grow(now: Now): void {
    // All that the clock jumped over is over at once.
    const isJump = now.age - this.#seen.age > now.monotonic - this.#seen.monotonic + 1;
    this.#seen = now;
    if (this.expected === 'unknown' || now.age < this.#agesAt) return;
    this.#agesAt = Math.min(...[...this.votes.values()].map(untilAfter(now.age)));
    if (!isTooFew(this.#question(now), PLAIN)) return;
    const ended = [...this.votes.values()]
      .map(({ freshUntil }) => freshUntil)
      .filter((until) => until <= now.age);
    const agoMs = ended.length === 0 || isJump ? 0 : now.age - Math.max(...ended);
    this.#expect('unknown', now.monotonic - agoMs);
  }

  #question(now: Now): Question {
    return {
      votes: [...this.votes.values()],
      electorate: this.electorate(),
      age: now.age,
      standing: this.expected,
    };
  }

  #expect(status: MonitorStatus, since: number): void {
    if (status === this.expected) return;
    this.expected = status;
    this.expectedSince = since;
  }

  #declared(before: LiveMonitor | null, after: LiveMonitor | null, now: Now): void {
    this.monitor = after;
    if (before === null) return;
    // "A change of what is probed ends all votes. `active: false`: status unknown, votes end."
    if (after === null || !after.active || after.version !== before.version) {
      if (!before.active && after?.active !== false) return;
      this.endedSlot = Math.max(this.#decidedSlot, this.#open.at(-1)?.slot ?? 0);
      this.#decidedSlot = this.endedSlot;
      this.#open.length = 0;
      this.votes.clear();
      this.#expect('unknown', now.monotonic);
      return;
    }
    this.#shift(
      freshMs(after.periodMs, after.longestCheckMs) - freshMs(before.periodMs, before.longestCheckMs),
    );
    if (after.regions !== null) this.#drop(new Set(after.regions), now);
  }

  #shift(byMs: number): void {
    this.#agesAt = Number.NEGATIVE_INFINITY;
    if (byMs === 0) return;
    for (const vote of this.votes.values()) {
      const { surelyFreshUntil, freshUntil } = vote;
      const shifted = { surelyFreshUntil: surelyFreshUntil + byMs, freshUntil: freshUntil + byMs };
      this.votes.set(vote.region, { ...vote, ...shifted });
    }
  }

  /** "A removed region's vote goes at once." */
  #drop(declared: ReadonlySet<Region>, now: Now): void {
    this.#agesAt = Number.NEGATIVE_INFINITY;
    for (const open of this.#open) {
      for (const region of open.given ?? []) if (!declared.has(region)) open.given?.delete(region);
      for (const region of open.answered) if (!declared.has(region)) open.answered.delete(region);
      const reports = open.reports.filter(({ region }) => declared.has(region));
      open.reports.splice(0, open.reports.length, ...reports);
    }
    let isChanged = false;
    for (const region of this.votes.keys()) {
      if (!declared.has(region)) isChanged = this.votes.delete(region) || isChanged;
    }
    for (const region of this.#entered) if (!declared.has(region)) this.#entered.delete(region);
    for (const region of this.#given) if (!declared.has(region)) this.#given.delete(region);
    if (isChanged) this.#judge(now);
  }
}

type Extreme = Vote['outcome'] | 'kept' | 'aged';
/** Beside `passed`, from the one that differs most. */
const EXTREMES: readonly Extreme[] = ['failed', 'degraded', 'kept', 'aged'];

/** Slots further ahead are of a clock that was wrong, ms. */
const SET_ASIDE_MS = 60_000;
/** A region that has passed is believed to have been up for so long after it, ms. */
const UP_AFTER_PASS_MS = 5_000;

/** It says nothing about now. */
function isTooOld(slot: number, { periodMs, longestCheckMs }: LiveMonitor, now: Now): boolean {
  return slot < now.slot - votableMs(periodMs, longestCheckMs);
}

/** From its slot to the end of its last attempt, ms. */
function tookMs({ attempts }: CheckResult): number {
  const last = attempts.at(-1);
  return last === undefined ? 0 : last.started_ms + last.latency;
}

/**
 * A failure begins with its slot. It begins earlier with the run of failures that it goes on with, however old
 * the last of them is, or as soon as 5 s after the region's last pass while that still counts.
 */
function downSince(vote: Vote, before: Vote | undefined, now: Now): Vote {
  if (before === undefined) return vote;
  if (before.outcome === 'failed') {
    return { ...vote, downFrom: before.downFrom, surelyDownFrom: before.surelyDownFrom };
  }
  if (before.freshUntil <= now.age) return vote;
  const downFrom = Math.min(vote.slot, before.surelyEndedAt + UP_AFTER_PASS_MS);
  if (before.surelyFreshUntil <= now.age) return { ...vote, downFrom };
  return { ...vote, downFrom, surelyDownFrom: Math.min(vote.slot, before.endedAt + UP_AFTER_PASS_MS) };
}

function ago({ monotonic, slot, age }: Now, ms: number): Now {
  return { monotonic: monotonic - ms, slot: slot - ms, age: age - ms };
}

const untilAfter =
  (age: number) =>
  ({ freshUntil }: Vote): number =>
    freshUntil > age ? freshUntil : Number.POSITIVE_INFINITY;

/** What a region that is missing would say. */
function supposed(region: Region, outcome: Vote['outcome'], slot: number): Vote {
  const never = Number.POSITIVE_INFINITY;
  return {
    region,
    outcome,
    slot,
    freshUntil: never,
    surelyFreshUntil: never,
    downFrom: slot,
    surelyDownFrom: slot,
    endedAt: slot,
    surelyEndedAt: slot,
    heardAt: slot,
  };
}

const READINGS: readonly Reading[] = [false, true].flatMap((isEarlyAgeing) =>
  [false, true].map((isLongFailure) => ({ isEarlyAgeing, isLongFailure })),
);
