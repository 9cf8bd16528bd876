import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Now, Told } from '../told.ts';
import { Confirmation, type Span } from './confirmation.ts';
import { Doubts } from './doubts.ts';
import { Electorate, type RegionsWithAgents } from './electorate.ts';
import { isTooOld } from './following-votes.ts';
import { ForgottenSlots } from './forgotten-slots.ts';
import { forgetAnswers, hear, isCertain, keepRegions, type OpenSlot, OpenSlots } from './open-slot.ts';
import {
  freshMs,
  isFresh,
  isSureError,
  isTooFew,
  type Question,
  SET_ASIDE_MS,
  statusOf,
  tookMs,
  type Vote,
} from './rule.ts';
import { Votes } from './votes.ts';

/** A timer may be late by so much, ms. */
const TIMER_MS = 50;

const NEVER = { freshUntil: Number.NEGATIVE_INFINITY };

/**
 * Applies the sentences of decision 0151 about a monitor's slots and votes, as plainly as possible. It knows the inputs of
 * the evaluation, and nothing of its implementation.
 */
export class Picture {
  monitor: LiveMonitor | null = null;
  #expected: MonitorStatus = 'unknown';
  /** Whether an incident is expected to be open. */
  #isOpen = false;
  readonly #confirmation = new Confirmation();
  /** Begins of the rows that made the expected statuses since it was emptied. */
  readonly begins: (Span & { readonly status: MonitorStatus })[] = [];
  /** Since when the expected status is expected, monotonic ms. */
  expectedSince = 0;
  /** The statuses that were expected one after the other since it was emptied: one event may decide several slots. */
  readonly steps = new Set<MonitorStatus>();
  readonly doubts = new Doubts();
  readonly votes = new Votes(this.doubts);
  readonly #open = new OpenSlots();
  readonly #forgotten = new ForgottenSlots();
  readonly #electorate: Electorate;
  /** Slots and regions with a recorded outcome other than `not_run`. The first such outcome stays. */
  readonly #recorded = new Map<number, Set<Region>>();
  /** When the commit before the present evaluation had ended, monotonic ms. */
  busyUntil = Number.NEGATIVE_INFINITY;
  /** When dispatch last resumed, monotonic ms. */
  #upSince = 0;
  #seen: Now = { monotonic: 0, slot: 0, age: 0 };
  /** When the electorate last grew, monotonic ms: the votes may have been enough until then. */
  #grewAt = 0;
  /** When ageing left too few votes, monotonic ms. */
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

  /** Whether several slots in a row make a status. */
  get hasRows(): boolean {
    return this.monitor !== null && Math.max(this.monitor.confirmAfter, this.monitor.recoverAfter) > 1;
  }

  /** Whether it is not known what the service must do. */
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

  /** The slot has an outcome of the region. */
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
   * After a restart: no slot of before is waited for. "A slot of which no region has reported an outcome by the restart is
   * not known afterwards": dispatch may give it again, also to other regions.
   */
  allResumed(now: Now): void {
    for (const open of this.#open) open.given = new Set(open.heard);
    this.#open.forget(({ reports }) => reports.length === 0);
    this.#upSince = now.monotonic;
    this.decide(now);
  }

  /** The service ended. What time alone has decided until this evaluation was committed. */
  ended(evaluated: Now): void {
    this.decide(evaluated);
  }

  /**
   * The service has started over rows whose period, quorum and confirmation may not be in effect yet: the votes count by them from now
   * on. Returns whether they count for another time than before.
   */
  countBy(rows: LiveMonitor | null, now: Now): boolean {
    if (rows !== null && this.monitor !== null) {
      const { quorum, confirmAfter, recoverAfter } = rows;
      this.monitor = { ...this.monitor, quorum, confirmAfter, recoverAfter };
    }
    return rows !== null && this.votes.startWith(freshMs(rows.periodMs, rows.longestCheckMs), now);
  }

  /**
   * A restart keeps all reports. Dispatch tells abstentions and given regions anew. A slot without reports "is not
   * written": nothing decides it before it is given again, also where no region is left that might have been given it.
   */
  restarted(now: Now, isBehind: boolean, wasClockSet: boolean): void {
    this.#upSince = Number.POSITIVE_INFINITY;
    // "If that lies more than 60 s ahead it is set aside", with everything that lies ahead then.
    this.#setAside(isBehind ? now.slot : now.slot + SET_ASIDE_MS, now);
    for (const open of this.#open) forgetAnswers(open);
    this.#open.forget(({ reports }) => reports.length === 0);
    this.#forgotten.restarted(this.#open.decidedSlot);
    const backMs = Math.max(0, this.#seen.slot - now.slot);
    if (this.monitor !== null) this.votes.restarted(now, { backMs, wasClockSet }, this.monitor.periodMs);
  }

  /**
   * Whether the votes make this status again, after they were too few for a moment only: "a timer may be late", or wait
   * for a commit, and what comes before it makes them enough.
   */
  makesAgain(status: MonitorStatus, now: Now): boolean {
    if (now.monotonic - Math.max(this.#tooFewSince, this.busyUntil) > TIMER_MS) return false;
    return statusOf({ ...this.#question(now), standing: status }) === status;
  }

  /**
   * Since when the present votes are too few, epoch ms; null: they are enough, or not known, or the electorate has grown
   * since, so that they were enough until then.
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
   * Sets slots after `newest` aside: a clock that was ahead gave them. Reports about them do not affect later slots.
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

  /** Returns whether a verdict was made. */
  #decideOpen(now: Now): boolean {
    let isJudged = false;
    const next = () => this.#open.takeDecided((each) => this.#isDecided(each, now));
    for (let open = next(); open !== undefined; open = next()) {
      // A slot that is decided by its end is decided at that instant, whenever this is called, or after the commit that
      // was on its way then.
      const endedMs = Math.max(0, now.monotonic - Math.max(this.#endOf(open), this.busyUntil));
      const then = ago(now, endedMs);
      // Where votes had aged before that instant, the status may have been unknown by then.
      if (this.votes.lastAgedAt(then) !== null) this.#grow(then);
      const joining = this.#electorate.enter(open.given ?? open.heard);
      if (joining.length > 0) this.#grewAt = then.monotonic;
      this.votes.lookAgain();
      const isCast = this.#cast(open, then, now);
      // Votes that did not count before: "it enters with the first slot given to it since then".
      const isJoined = joining.some((region) => isFresh(this.votes.get(region) ?? NEVER, then.age));
      if (!isCast && isJoined) this.#judge(then, open.slot, now);
      isJudged = isCast || isJoined || isJudged;
    }
    return isJudged;
  }

  /** Votes have changed between two decisions: they and what they make certain are one verdict. */
  #judgeAnew(now: Now, slot: number | null): void {
    if (this.#isSure(now)) {
      this.#electorate.enter(this.#open.given());
      this.#grewAt = now.monotonic;
    }
    if (!this.#decideOpen(now)) this.#judge(now, slot);
  }

  /**
   * "A majority's failure about one slot is announced within 1 s of the report that makes it certain": also a majority of
   * regions whose first slot is not decided.
   */
  #isSure(now: Now): boolean {
    const electorate = this.#electorate.now(this.#open.given());
    if (this.expected === 'error' || electorate.size === this.#electorate.now().size) return false;
    return isSureError({ ...this.#question(now), electorate });
  }

  electorate(): Set<Region> {
    return this.#electorate.now();
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
    // "`active: false`: votes end", also those of a slot that dispatch gives before it knows.
    if (this.monitor?.active === false) this.#open.endAt(slot);
    if (!this.isActive || this.monitor?.version !== version || this.#open.isOver(slot)) return;
    const open = this.#openSlot(slot, now);
    // "A removed region's vote goes at once", and it enters again "from the first slot it was given" since.
    const declared = this.monitor.regions;
    const given = regions.filter((region) => declared === null || declared.includes(region));
    open.given = new Set([...(open.given ?? open.heard), ...given]);
    this.#electorate.gave(given);
    this.#given(now);
  }

  /**
   * Late reports of regions that were given nothing since they are the monitor's count from here on. The slot that they
   * were given says nothing yet: "so many decided slots in a row".
   */
  #given(now: Now): void {
    this.#decideOpen(now);
    if (this.#isSure(now)) this.#judgeAnew(now, null);
  }

  #openSlot(slot: number, now: Now): OpenSlot {
    return this.#open.of(slot, this.monitor?.periodMs ?? 0, now);
  }

  /** "`not_run`, also a second one, answers the slot but is no vote." */
  #answered(slot: number, region: Region, now: Now): void {
    if (!this.#open.isOver(slot)) hear(this.#openSlot(slot, now), region);
  }

  /**
   * "The electorate is the monitor's regions that had an agent within 24 h, each from the first slot it was given." An
   * excuse gives a region no slot: after a restart, regions are excused that had no agent when the slot was given.
   */
  #excused(slot: number, region: Region, now: Now): void {
    if (!this.#open.isOver(slot)) this.#openSlot(slot, now).answered.add(region);
  }

  /** "A slot that is left out under overload lets the votes of its regions count for a period longer." */
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
    // Whether the slot was given before the clock was set back. Such slots are set aside.
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
      // "To the end of its last failed check", which its report follows also where the slots' clock is slowed down.
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
    // "A report that comes after its slot was decided becomes its region's vote at once."
    // A late report from before the region was removed and declared again gives it no part in the electorate.
    if (!this.votes.cast(vote, monitor, now)) return;
    const left = slot + monitor.periodMs - now.slot;
    const openMs = this.#forgotten.openForMs(slot, left, this.#upSince === Infinity);
    if (openMs > 0) this.doubts.addLater(region, now.age + openMs, freshUntil);
    this.votes.agesBy(freshUntil);
    // "After it the open slot's certainty is looked at again": both together make one verdict.
    this.#judgeAnew(now, slot);
  }

  /** A service that was down waits until it has read the reports of that time. */
  #endOf({ endsAt }: OpenSlot): number {
    return Math.max(endsAt, this.#upSince);
  }

  /** "When every region given it has answered, or the missing ones cannot change the outcome, or one period has passed." */
  #isDecided(open: OpenSlot, now: Now): boolean {
    if (now.monotonic >= this.#endOf(open)) return true;
    const given = open.given ?? new Set([...this.#electorate.possible(), ...open.answered]);
    const missing = [...given].filter((region) => !open.answered.has(region));
    if (missing.length === 0) return true;
    const { monitor, expected: status } = this;
    const votes = this.votes.byRegion;
    return isCertain(open, missing, { monitor, votes, electorate: this.#electorate.now(given), status }, now);
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
   * @param slot   what the verdict is about; null: nothing new
   * @param seenAt when the service may have judged last, if that is after `now`
   */
  #judge(now: Now, slot: number | null, seenAt = now): void {
    const says = statusOf(this.#question(now));
    const { monitor } = this;
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

  /** "Ageing alone changes status only to unknown, dated at the expiry." */
  #grow(now: Now): void {
    // All that the clock jumped over is over at once.
    const isJump = now.age - this.#seen.age > now.monotonic - this.#seen.monotonic + 1;
    if (this.expected === 'unknown' || !this.votes.mayHaveAged(now)) return;
    if (!isTooFew(this.#question(now))) return;
    const agedAt = this.votes.lastAgedAt(now);
    const agedMs = agedAt === null || isJump ? 0 : now.age - agedAt;
    const agoMs = Math.min(agedMs, now.monotonic - this.#grewAt);
    this.#tooFewSince = now.monotonic - agoMs;
    this.#expect('unknown', this.#tooFewSince);
  }

  #question(now: Now): Question {
    return {
      votes: this.votes.all(),
      electorate: this.#electorate.now(),
      age: now.age,
      standing: this.expected,
      quorum: this.monitor?.quorum ?? 'majority',
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
    if (before === null) return;
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

  /** "A removed region's vote goes at once." */
  #drop(declared: ReadonlySet<Region>, now: Now): void {
    for (const open of this.#open) keepRegions(open, declared);
    this.#electorate.drop(declared);
    // "A removed region's vote goes at once", and a slot is decided "when every region given it has reported": both
    // together make one verdict.
    if (this.votes.keep(declared)) this.#judgeAnew(now, null);
  }
}

function ago({ monotonic, slot, age }: Now, ms: number): Now {
  return { monotonic: monotonic - ms, slot: slot - ms, age: age - ms };
}
