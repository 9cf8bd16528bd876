import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Now, Told } from '../told.ts';
import { Confirmation, type Span } from './confirmation.ts';
import { Doubts } from './doubts.ts';
import { Electorate, type RegionsWithAgents } from './electorate.ts';
import { isTooOld } from './following-votes.ts';
import { ForgottenSlots } from './forgotten-slots.ts';
import { hear, isCertain, keepRegions, type OpenSlot, OpenSlots } from './open-slot.ts';
import {
  freshMs,
  isFresh,
  isQuorum,
  isSureError,
  isTooFew,
  type Question,
  type Rule,
  SET_ASIDE_MS,
  statusOf,
  tookMs,
  type Vote,
} from './rule.ts';
import { Votes } from './votes.ts';

/** Time by which a timer may be late, ms. */
const TIMER_MS = 50;

const UNDECLARED = { quorum: 'majority', confirmAfter: 1, recoverAfter: 1 } as const;
const NEVER = { freshUntil: Number.NEGATIVE_INFINITY };

/**
 * Applies the sentences of decision 0151 about a monitor's slots and votes, as plainly as
 * possible. This class knows the inputs of the evaluation, but not its implementation.
 */
export class Picture {
  monitor: LiveMonitor | null = null;
  #expected: MonitorStatus = 'unknown';
  /** Whether an incident is expected to be open. */
  #isOpen = false;
  readonly #confirmation = new Confirmation();
  /** The beginnings of the rows of slots that made the expected statuses, since the list was last emptied. */
  readonly begins: (Span & { readonly status: MonitorStatus })[] = [];
  /** The rules by which votes were judged, since the list was last emptied. */
  readonly rules: Rule[] = [];
  /** Instant since which the present status is expected, monotonic ms. */
  expectedSince = 0;
  /**
   * The statuses that were expected one after the other, since
   * the set was last emptied. One event may decide several slots.
   */
  readonly steps = new Set<MonitorStatus>();
  readonly doubts = new Doubts();
  readonly votes = new Votes(this.doubts);
  readonly #open = new OpenSlots();
  readonly #forgotten = new ForgottenSlots();
  /** See {@link isOverdue}. */
  readonly #overdue = new Set<number>();
  readonly #electorate: Electorate;
  /** Whether a region had not entered at the last start, and no slot from after the start is decided. */
  #mayLack = false;
  /** Slots and regions with a recorded outcome other than `not_run`. The first such outcome stays. */
  readonly #recorded = new Map<number, Set<Region>>();
  /** Until when the service was busy before the present evaluation, monotonic ms: usually the end of a commit. */
  busyUntil = Number.NEGATIVE_INFINITY;
  /** When dispatch last resumed, monotonic ms; infinite during a start. */
  #upSince = 0;
  #seen: Now = { monotonic: 0, slot: 0, age: 0 };
  /** When the electorate last grew, monotonic ms. The votes may have been enough until then. */
  #grewAt = 0;
  /** When too few votes were left because others aged, monotonic ms. */
  #tooFewSince = Number.NEGATIVE_INFINITY;

  constructor(presence: RegionsWithAgents) {
    this.#electorate = new Electorate(presence);
  }

  get expected(): MonitorStatus {
    return this.#expected;
  }

  set expected(status: MonitorStatus) {
    this.#expected = status;
    if (status !== 'unknown') this.#isOpen = status !== 'active';
  }

  /** Whether the right behaviour of the service is not known. */
  isInDoubt(now: Now): boolean {
    if (this.monitor !== null && this.doubts.any(now)) this.#confirmation.doubt(this.monitor);
    return this.doubts.any(now) || this.#confirmation.isDoubted;
  }

  get isActive(): boolean {
    return this.monitor?.active === true;
  }

  /** Reports about this slot or an older one never vote, because votes were ended since. */
  get endedSlot(): number {
    return this.#open.endedSlot;
  }

  /** Whether an outcome of the region is recorded for the slot. */
  isRecorded(region: Region, slot: number): boolean {
    return this.#recorded.get(slot)?.has(region) === true;
  }

  tell(told: Told, now: Now): void {
    switch (told.is) {
      case 'opened':
        this.#opened(told, now);
        break;
      case 'excused':
        if (this.#isAbout(told.version, told.region)) this.#excused(told.slot, told.region, now);
        break;
      case 'reported':
        this.#reported(told.region, told.result, told.isOfferedAgain, now);
        break;
      case 'left-out':
        this.#leftOut(told, now);
        break;
      case 'all-resumed':
      case 'linked':
      case 'unlinked':
      case 'window':
        break;
      case 'declared':
        this.#declared(told.before, told.after, now);
        break;
    }
    this.decide(now);
  }

  /**
   * Handles the end of a start: slots from before the start wait for no region any
   * more. "A slot of which no region has reported an outcome by the restart is not
   * known afterwards." Dispatch may give such a slot again, also to other regions.
   */
  allResumed(now: Now): void {
    if (!this.#mayLack) for (const open of this.#open) open.given = new Set(open.heard);
    this.#open.forget(({ reports }) => reports.length === 0);
    this.#upSince = now.monotonic;
    this.decide(now);
  }

  /**
   * Handles the end of the service. Time alone may have decided
   * slots up to the last evaluation that was committed.
   */
  ended(evaluated: Now): void {
    this.decide(evaluated);
  }

  /**
   * Handles a start over a row of the monitor whose period, quorum and confirmation may not be in effect yet.
   * Slots and votes count by this row from now on. Returns whether votes now count for another time than before.
   */
  countBy(rows: LiveMonitor | null, now: Now): boolean {
    this.#mayLack = rows !== null && this.#electorate.hasNewRegion(rows.regions);
    if (rows !== null && this.monitor !== null) {
      const { periodMs, longestCheckMs, quorum, confirmAfter, recoverAfter } = rows;
      this.monitor = { ...this.monitor, periodMs, longestCheckMs, quorum, confirmAfter, recoverAfter };
    }
    return rows !== null && this.votes.startWith(freshMs(rows.periodMs, rows.longestCheckMs), now);
  }

  /**
   * Handles a restart. All reports stay. Dispatch reports abstentions and given
   * regions again. A slot without reports "is not written": it is decided only after
   * it was given again, even if no region is left that might have been given it.
   */
  restarted(now: Now, isBehind: boolean, wasClockSet: boolean): void {
    this.#upSince = Number.POSITIVE_INFINITY;
    // "If that lies more than 60 s ahead it is set aside",
    // together with all slots that are then in the future.
    this.#setAside(isBehind ? now.slot : now.slot + SET_ASIDE_MS, now);
    this.#open.restarted(this.monitor?.periodMs ?? 0, now);
    this.#forgotten.restarted(this.#open.decidedSlot);
    const backMs = Math.max(0, this.#seen.slot - now.slot);
    if (this.monitor !== null) this.votes.restarted(now, { backMs, wasClockSet }, this.monitor.periodMs);
  }

  /**
   * Whether the votes make this status again after too few votes were left for a moment only. "A timer may be
   * late" or wait for a commit, or for the end of a start, and an event before it may bring enough votes.
   */
  makesAgain(status: MonitorStatus, now: Now): boolean {
    if (now.monotonic - Math.max(this.#tooFewSince, this.busyUntil, this.#upSince) > TIMER_MS) return false;
    const says = statusOf({ ...this.#question(now), standing: status });
    if (says === 'unknown' || this.monitor === null) return says === status;
    return this.#confirmation.keeps(status, says, this.#isOpen, this.monitor);
  }

  /**
   * Since when the present votes are too few, epoch ms. Null: they are enough, or are
   * in doubt, or the electorate has grown since, so that they were enough until then.
   */
  tooFewAt(now: Now): number | null {
    const question = this.#question(now);
    if (!isTooFew(question) || this.isInDoubt(now)) return null;
    const { votes } = question;
    const ages = votes.map(({ freshUntil }) => freshUntil).filter((age) => age < now.age);
    const isTooFewAfter = (age: number) =>
      isTooFew({ ...question, votes: votes.filter(({ freshUntil }) => freshUntil > age), age });
    const first = ages.sort((a, b) => a - b).find(isTooFewAfter);
    if (first === undefined || now.monotonic - (now.age - first) <= this.#grewAt) return null;
    return now.slot - (now.age - first);
  }

  /**
   * Sets slots after `newest` aside, because a clock that was
   * ahead gave them. Reports about them do not affect later slots.
   */
  #setAside(newest: number, now: Now): void {
    this.#open.setAside(newest);
    this.votes.setAside(newest, now);
    this.#confirmation.restarted(newest, now.slot);
  }

  /** Lets time pass: decides slots whose period is over, and lets votes age. */
  decide(now: Now): void {
    this.#decideOpen(now);
    this.#grow(now);
    this.#seen = now;
  }

  /** "At the end of its period, such a slot is not decided." */
  #forgetOverdue(now: Now): void {
    const isOverdue = (open: OpenSlot) =>
      now.monotonic >= this.#endOf(open) && this.#missing(open).length > 0 && this.#mayLackRegion(open);
    for (const open of this.#open) if (isOverdue(open)) this.#overdue.add(open.slot);
    this.#open.forget(isOverdue);
  }

  /** Whether the slot was not decided, because a region that may have been given it before a start had not entered. */
  isOverdue(slot: number): boolean {
    if (this.#overdue.has(slot)) return true;
    const open = [...this.#open].find((each) => each.slot === slot);
    return open !== undefined && this.#missing(open).length > 0 && this.#mayLackRegion(open);
  }

  /** Returns whether a verdict was made. */
  #decideOpen(now: Now): boolean {
    let isJudged = false;
    this.#forgetOverdue(now);
    const next = () => this.#open.takeDecided((each) => this.#isDecided(each, now));
    for (let open = next(); open !== undefined; open = next()) {
      // A slot that is decided by its deadline is decided at the deadline, even if this
      // is called later; or at the end of a commit that was in progress at the deadline.
      const endedMs = Math.max(0, now.monotonic - Math.max(this.#endOf(open), this.busyUntil));
      const then = ago(now, endedMs);
      // If votes had aged before that instant, the status may have become `unknown` by then.
      if (this.votes.lastAgedAt(then) !== null) this.#grow(then);
      const joining = this.#electorate.enter(this.#givenUntil(open));
      if (joining.length > 0) this.#grewAt = then.monotonic;
      if (open.given !== null) this.#endWait();
      this.votes.lookAgain();
      const isCast = this.#cast(open, then, now);
      // A region that joins may have a vote that did not count before:
      // "it enters with the first slot given to it since then".
      const isJoined = joining.some((region) => isFresh(this.votes.get(region) ?? NEVER, then.age));
      if (!isCast && isJoined) this.#judge(then, open.slot, now);
      isJudged = isCast || isJoined || isJudged;
    }
    return isJudged;
  }

  /**
   * Judges votes that have changed between two decisions. The changed votes,
   * and the decisions that they make certain, give one verdict together.
   */
  #judgeAnew(now: Now, slot: number | null): void {
    if (this.#isSure(now)) {
      this.#electorate.enter(this.#open.given());
      this.#grewAt = now.monotonic;
    }
    if (!this.#decideOpen(now)) this.#judge(now, slot);
  }

  /**
   * Whether an `error` is certain with the regions whose first slot is not
   * decided yet. "A majority's failure about one slot is announced within 1 s of
   * the report that makes it certain", and such regions may be in the majority.
   */
  #isSure(now: Now): boolean {
    const electorate = this.#electorate.now(this.#open.given());
    if (this.expected === 'error' || electorate.size === this.#electorate.now().size) return false;
    return isSureError({ ...this.#question(now), electorate });
  }

  /** The rule by which votes are judged now. */
  get rule(): Rule {
    const { quorum, confirmAfter, recoverAfter } = this.monitor ?? UNDECLARED;
    const hasRows = Math.max(confirmAfter, recoverAfter) > 1;
    return { quorum, electorate: this.#electorate.now(), hasRows };
  }

  /** The electorate with the regions of slots that are not decided, because they may still vote otherwise. */
  widestElectorate(): Set<Region> {
    return this.#electorate.widest();
  }

  #isAbout(version: number, region: Region): boolean {
    const { monitor } = this;
    if (monitor === null || !monitor.active || monitor.version !== version) return false;
    return monitor.regions === null || monitor.regions.includes(region);
  }

  #opened({ slot, version, regions }: Told & { is: 'opened' }, now: Now): void {
    // "`active: false`: votes end", also the votes about a
    // slot that dispatch gave before it learned of the change.
    if (this.monitor?.active === false) this.#open.endAt(slot);
    if (!this.isActive || this.monitor?.version !== version || this.#open.isOver(slot)) return;
    const open = this.#openSlot(slot, now);
    // "A removed region's vote goes at once." The region enters again
    // "from the first slot it was given" after it is declared again.
    const declared = this.monitor.regions;
    const given = regions.filter((region) => declared === null || declared.includes(region));
    open.given = new Set([...(open.given ?? open.heard), ...given]);
    this.#electorate.gave(given);
    this.#given(now);
  }

  /**
   * Judges the votes after regions were given a slot. If a region was given nothing since it
   * is declared, its late reports count from here on. The new slot itself has no verdict yet.
   */
  #given(now: Now): void {
    this.#decideOpen(now);
    if (this.#isSure(now)) this.#judgeAnew(now, null);
  }

  #openSlot(slot: number, now: Now): OpenSlot {
    return this.#open.of(slot, this.monitor?.periodMs ?? 0, now);
  }

  /** Handles a `not_run`: "`not_run`, also a second one, answers the slot but is no vote". */
  #answered(slot: number, region: Region, now: Now): void {
    if (!this.#open.isOver(slot)) hear(this.#openSlot(slot, now), region);
  }

  /**
   * Handles a region from which dispatch expects no report of the slot. The region
   * does not enter the electorate: it may not have been given the slot, because after
   * a restart also regions are excused that had no agent when the slot was given.
   */
  #excused(slot: number, region: Region, now: Now): void {
    if (!this.#open.isOver(slot)) this.#openSlot(slot, now).answered.add(region);
  }

  /**
   * Handles a slot that is left out: "a slot that is left out under
   * overload lets the votes of its regions count for a period longer".
   */
  #leftOut({ slot, version, regions }: Told & { is: 'left-out' }, now: Now): void {
    const { monitor } = this;
    const about = regions.filter((region) => this.#isAbout(version, region));
    if (monitor === null || about.length === 0) return;
    this.votes.leftOut(about, monitor.periodMs, now);
    for (const region of about) if (this.#open.has(slot)) this.#excused(slot, region, now);
  }

  #reported(region: Region, result: CheckResult, isOfferedAgain: boolean, now: Now): void {
    const { monitor } = this;
    const { slot, version, outcome } = result;
    // The slot was given before the clock was set back. Such slots are set aside.
    if (slot > now.slot + SET_ASIDE_MS) {
      this.doubts.ahead(region, slot);
      return;
    }
    if (this.isRecorded(region, slot)) return;
    if (outcome !== 'not_run') this.#recorded.set(slot, (this.#recorded.get(slot) ?? new Set()).add(region));
    if (monitor === null || !this.#isAbout(version, region) || slot <= this.endedSlot) return;
    if (outcome === 'not_run') {
      if (!isOfferedAgain) this.#answered(slot, region, now);
      return;
    }
    this.#forgotten.reported(slot);
    const freshUntil = this.votes.freshUntil(now);
    const vote: Vote = {
      region,
      outcome,
      slot,
      freshUntil,
      downFrom: slot,
      upSlot: outcome === 'failed' ? 0 : slot,
      // "To the end of its last failed check." The report comes after
      // the end of the check, even if the slots' clock is slowed down.
      endedAt: Math.max(slot, Math.min(slot + tookMs(result), now.slot)),
    };
    if (!this.#open.isOver(slot)) {
      this.#electorate.gave([region]);
      const open = this.#openSlot(slot, now);
      hear(open, region);
      open.reports.push(vote);
      return;
    }
    if (isTooOld(slot, monitor, now)) return;
    // If too many votes have aged while no coordinator ran, the status is `unknown` until the report is a vote.
    this.#grow(now);
    // "A report that comes after its slot was decided becomes its region's vote at once." If the region was
    // removed and declared again since, a late report from before does not let it enter the electorate.
    if (!this.votes.cast(vote, monitor, now)) return;
    const left = slot + monitor.periodMs - now.slot;
    const openMs = this.#forgotten.openForMs(slot, left, this.#upSince === Infinity);
    if (openMs > 0) this.doubts.addLater(region, now.age + openMs, freshUntil);
    this.votes.agesBy(freshUntil);
    // "After it the open slot's certainty is looked at again": the new vote
    // and the decisions that it makes certain give one verdict together.
    this.#judgeAnew(now, slot);
  }

  /**
   * When the slot ends. After a downtime, no slot ends before the service has read the reports of that time.
   */
  #endOf({ endsAt }: OpenSlot): number {
    return Math.max(endsAt, this.#upSince);
  }

  /**
   * Whether the slot is decided: "when every region given it has answered, or
   * the missing ones cannot change the outcome, or one period has passed".
   */
  #isDecided(open: OpenSlot, now: Now): boolean {
    const missing = this.#missing(open);
    if (missing.length === 0) return true;
    if (this.#mayLackRegion(open)) return false;
    if (now.monotonic >= this.#endOf(open)) return true;
    const { monitor, expected: status } = this;
    const votes = this.votes.byRegion;
    const given = this.#mayBeGiven(open);
    const electorate = this.#electorate.now([...given, ...this.#givenUntil(open)]);
    return isCertain(open, missing, { monitor, votes, electorate, status }, now);
  }

  /**
   * "If a region had not entered at a start, a slot from before it needs the answers of all regions that may have
   * been given it, or enough failures, until a slot from after the start is decided."
   */
  #mayLackRegion(open: OpenSlot): boolean {
    if (!this.#mayLack || open.given !== null) return false;
    const electorate = this.#electorate.now(this.#mayBeGiven(open));
    const failed = open.reports.filter(
      ({ region, outcome }) => outcome === 'failed' && electorate.has(region),
    );
    return !isQuorum(failed.length, electorate.size, { quorum: this.rule.quorum, electorate });
  }

  #endWait(): void {
    if (!this.#mayLack) return;
    this.#mayLack = false;
    for (const open of this.#open) if (open.slot < this.#open.decidedSlot) open.given ??= new Set(open.heard);
  }

  #mayBeGiven({ given, answered }: OpenSlot): ReadonlySet<Region> {
    return given ?? new Set([...this.#electorate.possible(), ...answered]);
  }

  #missing(open: OpenSlot): Region[] {
    return [...this.#mayBeGiven(open)].filter((region) => !open.answered.has(region));
  }

  /** "Each from the first slot it was given": the regions that were given the slot or an earlier undecided one. */
  #givenUntil({ slot, given, heard }: OpenSlot): Region[] {
    const earlier = [...this.#open].filter((each) => each.slot < slot);
    return [...(given ?? heard), ...earlier.flatMap((each) => [...(each.given ?? each.heard)])];
  }

  /** Returns whether a verdict was made. */
  #cast({ slot, reports }: OpenSlot, then: Now, now: Now): boolean {
    const { monitor } = this;
    if (monitor === null || reports.length === 0) return false;
    const isNew = this.votes.castAll(reports, monitor, then);
    if (isNew) this.#judge(then, slot, now);
    return isNew;
  }

  /**
   * Judges the present votes.
   *
   * @param slot the slot that causes the verdict; null: no slot causes it
   * @param seenAt when the service may have judged at the latest, if that is after `now`
   */
  #judge(now: Now, slot: number | null, seenAt = now): void {
    const { monitor } = this;
    const question = this.#question(now);
    this.rules.push(question);
    const says = statusOf(question);
    if (says === 'unknown' || monitor === null) {
      this.#expect(says, now.monotonic);
      return;
    }
    const since = { from: now.slot, until: seenAt.slot };
    this.#confirmation.said(says, slot, since, monitor, this.doubts.any(now));
    const { status, begin } = this.#confirmation.after(says, this.expected, this.#isOpen, monitor);
    if (begin !== null && status !== this.expected) this.begins.push({ ...begin, status });
    this.#expect(status, now.monotonic);
  }

  /** Lets votes age: "ageing alone changes status only to unknown, dated at the expiry". */
  #grow(now: Now): void {
    // Votes that expired during a jump of the clock count as aged at the jump.
    const isJump = now.age - this.#seen.age > now.monotonic - this.#seen.monotonic + 1;
    if (this.expected === 'unknown' || !this.votes.mayHaveAged(now)) return;
    if (!isTooFew(this.#question(now))) return;
    const agedAt = this.votes.lastAgedAt(now);
    const agedMs = agedAt === null || isJump ? 0 : now.age - agedAt;
    const agoMs = Math.min(agedMs, now.monotonic - this.#grewAt);
    this.#tooFewSince = now.monotonic - agoMs;
    this.#expect('unknown', this.#tooFewSince);
  }

  #question(now: Now): Question & Rule {
    return {
      ...this.rule,
      votes: this.votes.all(),
      age: now.age,
      standing: this.expected,
    };
  }

  #expect(status: MonitorStatus, since: number): void {
    if (status === this.expected) return;
    this.expected = status;
    this.steps.add(status);
    this.expectedSince = since;
  }

  #declared(before: LiveMonitor | null, after: LiveMonitor | null, now: Now): void {
    this.monitor = after;
    this.#electorate.declare(after?.regions ?? null);
    const byMs = this.votes.countFor(after === null ? 0 : freshMs(after.periodMs, after.longestCheckMs));
    if (before === null) {
      this.#mayLack = true;
      return;
    }
    // "A change of what is probed ends all votes. `active: false`: status unknown, votes end."
    if (after === null || !after.active || after.version !== before.version) {
      if (!before.active && after?.active !== false) return;
      this.#open.end(this.#upSince === Number.POSITIVE_INFINITY, now);
      this.votes.end();
      this.#confirmation.end();
      if (after?.active !== true) this.#isOpen = false;
      this.#expect('unknown', now.monotonic);
      return;
    }
    this.votes.shift(byMs, now);
    if (after.regions !== null) this.#drop(new Set(after.regions), now);
  }

  /** Removes regions that are not declared any more: "a removed region's vote goes at once". */
  #drop(declared: ReadonlySet<Region>, now: Now): void {
    for (const open of this.#open) keepRegions(open, declared);
    this.#electorate.drop(declared);
    // Votes are removed, and slots are decided "when every region
    // given it has reported". Both together give one verdict.
    if (this.votes.keep(declared)) this.#judgeAnew(now, null);
  }
}

function ago({ monotonic, slot, age }: Now, ms: number): Now {
  return { monotonic: monotonic - ms, slot: slot - ms, age: age - ms };
}
