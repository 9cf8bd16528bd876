import type { CheckResult, NotRunReason, Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { checkEnd } from '../domain/check-end.ts';
import { type CastingTime, castVotes, type OpenSlot, slotDecision } from '../domain/decision.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import {
  ALL_REGIONS,
  bitOf,
  hasRegion,
  NO_REGIONS,
  type RegionSet,
  regionSet,
  sizeOf,
} from '../domain/region-set.ts';
import { isOnGrid } from '../domain/schedule.ts';
import {
  BELIEVED_AHEAD_MS,
  electorateOf,
  freshForMs,
  isCounted,
  quorumEndsAt,
  statusOf,
  tally,
  type Vote,
  type VoteOutcome,
  verdict,
  votableForMs,
} from '../domain/status.ts';
import type { TransitionReason } from '../domain/transition.ts';
import { announce } from './announcing.ts';
import type { Frame, Instants, StatusChange } from './frame.ts';
import { KeptOutcomes } from './kept-outcomes.ts';
import { DECISIONS_PER_WRITE, Drafts, type MonitorState, type States } from './state.ts';
import { changeStatus, flushIntervals } from './status-change.ts';
import { noWrites, type Writes, type WrittenState } from './writes.ts';

/**
 * The evaluation: what regions report and dispatch tells goes in with the states of monitors; changed states
 * and a list of writes come out. It is pure: no clock, no store, no randomness of its own. Whoever uses it
 * writes the writes in one transaction and then, and only then, puts the states in their place.
 *
 * The life of a slot, for one monitor:
 *
 *     opened ──▶ open ── every region given it has answered ──────────────┐
 *      (dispatch) │  ├── the missing regions cannot change the outcome ───┼──▶ decided: its reports become votes,
 *                 │  └── one period has passed ──────────────────────────┘    the votes a verdict, and the verdict
 *                 │                                                           a status, an incident, alerts
 *                 ├── a region reports an outcome: kept for the decision
 *                 └── a region reports `not_run`, abstains or is skipped: it has answered without a vote
 *
 *     decided ◀── a late report: becomes its region's vote at once, unless the region has voted about a newer
 *                 slot; then the slots that are open are looked at again
 *
 * Slots are decided each for itself: several may be open where a check takes longer than its period.
 * Votes age; ageing alone makes a status `unknown`. A change of what is probed ends votes and open slots:
 * results of slots up to `floorSlot` are recorded and never vote.
 */
export type EvaluationInput = {
  readonly states: Pick<States, 'get' | 'values'>;
  readonly monitors: { get(id: number): LiveMonitor | undefined };
  readonly instants: Instants;
  /** Regions that had an agent within 24 h. */
  readonly electable: RegionSet;
  /** Results with a slot before it (epoch ms) have their hour rolled up again. */
  readonly rolledUpUntil: number;
  readonly isHeld: (monitorId: number) => boolean;
  readonly newKey: () => string;
  /** Whether channels of this kind are told of an incident that ends without a recovery. */
  readonly closesIncidents: (providerType: string) => boolean;
  /**
   * False after a start, until what was reported meanwhile is read: no slot is decided for its time then,
   * because the reports that it waits for may come with the next message.
   */
  readonly isTimeUp: boolean;
};

/** A result as the stream has it. */
export type Report = {
  readonly result: CheckResult;
  readonly region: Region;
  readonly agent: string;
  /** What is recorded already of the region and slot. Null: nothing. */
  readonly prior: Outcome | null;
  /** With `not_run`: the job is offered again, so the region has not answered yet. */
  readonly isOfferedAgain: boolean;
};

const NONE: readonly never[] = [];

export class Evaluation {
  readonly frame: Frame;
  readonly drafts: Drafts;
  readonly #input: EvaluationInput;
  /** Monitors as they are declared from here on. Null: removed. */
  readonly #declared = new Map<number, LiveMonitor | null>();
  readonly #unwritten = new Set<MonitorState>();
  /** What this evaluation keeps: the same result may come twice at once. */
  readonly #kept = new KeptOutcomes();
  /** Slots that were decided with reports. */
  readonly #decided: { readonly state: MonitorState; readonly slot: number }[] = [];
  /** End of the last jump of the slots' clock, as `frame.now`. */
  readonly #jumpedAt: number;

  constructor(input: EvaluationInput) {
    const { instants, electable, isHeld, newKey, closesIncidents } = input;
    this.#input = input;
    this.drafts = new Drafts(input.states);
    this.#jumpedAt = (instants.jumpedAt ?? Number.NEGATIVE_INFINITY) + instants.jumpedMs;
    this.frame = {
      instants,
      now: instants.monotonic + instants.jumpedMs,
      electable,
      isHeld,
      newKey,
      closesIncidents,
      writes: noWrites(instants.wall),
      changes: [],
    };
  }

  get writes(): Writes {
    return this.frame.writes;
  }

  get changes(): readonly StatusChange[] {
    return this.frame.changes;
  }

  /** As this evaluation declares it. */
  monitor(id: number): LiveMonitor | undefined {
    const declared = this.#declared.get(id);
    return declared === undefined ? this.#input.monitors.get(id) : (declared ?? undefined);
  }

  /** From here on the monitor is declared so. Null: removed. */
  declare(id: number, monitor: LiveMonitor | null): void {
    this.#declared.set(id, monitor);
  }

  state(monitorId: number): MonitorState {
    return this.drafts.open(monitorId, this.frame.instants.slotNow);
  }

  /** The states of the monitors that the channel is linked to. */
  linkedTo(notificationId: number): MonitorState[] {
    const isLinked = ({ links }: Readonly<MonitorState>) =>
      links.some((link) => link.notificationId === notificationId);
    for (const state of this.#input.states.values()) if (isLinked(state)) this.drafts.find(state.id);
    return [...this.drafts.entries()].flatMap(([, state]) =>
      state !== null && isLinked(state) ? [state] : [],
    );
  }

  /** The state is written at the end, whatever else happens to it. */
  keep(state: MonitorState): void {
    this.#unwritten.add(state);
  }

  electorate(state: MonitorState, monitor: LiveMonitor, joining: RegionSet = NO_REGIONS): RegionSet {
    const declared = monitor.regions === null ? null : regionSet(monitor.regions);
    return electorateOf(declared, this.frame.electable, state.entered | joining);
  }

  counted(state: MonitorState, monitor: LiveMonitor): Vote[] {
    const electorate = this.electorate(state, monitor);
    return state.votes.filter((vote) => isCounted(vote, electorate, this.frame.now));
  }

  /** The slot was given to `regions`. */
  opened({ id, version }: LiveMonitor, slot: number, given: RegionSet): void {
    const evaluated = this.#evaluated(id, version);
    if (evaluated === null || isOver(evaluated.state, slot)) return;
    const { state, monitor } = evaluated;
    const open = this.#openSlot(state, monitor, slot);
    open.given |= given;
    open.isGivenKnown = true;
    this.settle(state, monitor);
  }

  /** After a restart: of the slot's regions only `waitedFor` may still report. */
  resumed({ id, version }: LiveMonitor, slot: number, waitedFor: RegionSet): void {
    const evaluated = this.#evaluated(id, version);
    if (evaluated === null || isOver(evaluated.state, slot)) return;
    const { state, monitor } = evaluated;
    const open = this.#openSlot(state, monitor, slot);
    open.given |= open.answered | waitedFor;
    open.isGivenKnown = true;
    this.settle(state, monitor);
  }

  /** After a restart: slots that nobody named in {@link resumed} wait for nobody. */
  resumedAll(monitorId: number): void {
    const monitor = this.monitor(monitorId);
    const state = this.drafts.find(monitorId);
    if (monitor === undefined || state === null) return;
    for (const open of state.open) {
      if (open.isGivenKnown) continue;
      open.given = open.answered;
      open.isGivenKnown = true;
    }
    this.settle(state, monitor);
  }

  /**
   * Records what a region reports.
   *
   * @returns false for a repeated result, of which nothing is kept
   */
  reported(monitor: LiveMonitor, report: Report): boolean {
    const { result, region } = report;
    const isKept = this.#keepResult(monitor, report);
    if (!isKept && result.outcome !== 'not_run') return false;
    const state = this.#evaluated(monitor.id, result.version, region)?.state;
    if (state === undefined || result.slot <= state.floorSlot) return isKept;
    // Given before the clock was set back: it would stand in the way of all slots until then.
    if (this.#isAhead(result.slot)) return isKept;
    if (result.outcome !== 'not_run') {
      this.#voted(state, monitor, this.#vote(monitor, result, result.outcome, region));
    } else if (!report.isOfferedAgain) {
      // A second `not_run` is not kept, and is the region's answer all the same.
      this.#answered(state, monitor, result.slot, region);
    }
    return isKept;
  }

  /** The region will not report the slot; kept as a `not_run` row unless it has one. */
  abstained(monitor: LiveMonitor, slot: number, region: Region, reason: NotRunReason): void {
    const { id: monitorId, version } = monitor;
    if (this.#kept.of(monitorId, slot, region) === undefined) {
      this.#kept.set(monitorId, slot, region, 'not_run');
      this.writes.abstentions.push({ monitorId, version, slot, region, reason });
      this.#repairRollUp(monitorId, slot);
      this.keepFindable(this.monitor(monitorId) ?? monitor, slot);
    }
    this.skipped(monitor, slot, region);
  }

  /** The region is given no job of the slot. */
  skipped({ id, version }: LiveMonitor, slot: number, region: Region): void {
    const evaluated = this.#evaluated(id, version, region);
    if (evaluated !== null) this.#answered(evaluated.state, evaluated.monitor, slot, region);
  }

  /** Time has passed: deadlines of slots, ages of votes. */
  due(monitorId: number): void {
    const monitor = this.monitor(monitorId);
    const state = this.drafts.find(monitorId);
    if (monitor === undefined || state === null) return;
    this.settle(state, monitor);
    this.#age(state, monitor);
  }

  /** Nothing has happened to the monitor; its channels may not have been told of what did (a start, the end of a hold). */
  announced(monitorId: number): void {
    const monitor = this.monitor(monitorId);
    const state = this.drafts.find(monitorId);
    if (monitor === undefined || state === null) return;
    announce(this.frame, state, monitor, this.counted(state, monitor));
  }

  /**
   * Whether only the store knows if the region's result of the slot is recorded. A slot that is open, or to
   * come, has no outcome of a region that has not answered: every outcome since the last decision that may be
   * a vote is in memory. A recorded `not_run` may not be.
   */
  needsPrior({ monitor: monitorId, version, slot, outcome }: CheckResult, region: Region): boolean {
    const monitor = this.monitor(monitorId);
    const state = this.#input.states.get(monitorId);
    if (monitor === undefined || state === undefined || outcome === 'not_run') return true;
    if (!isEvaluated(monitor, version, region) || slot <= state.floorSlot) return true;
    if (slot < this.#oldestVotable(monitor) || this.#isAhead(slot)) return true;
    const open = state.open.find((each) => each.slot === slot);
    if (open !== undefined) return hasRegion(open.answered, region);
    if (slot === state.decidedSlot) return hasRegion(state.decidedAnswered, region);
    return slot < state.decidedSlot;
  }

  /** Completes the writes. The last call. */
  finish(): void {
    this.#dateDecisions();
    for (const state of this.#unwritten) {
      // Removed since.
      if (this.drafts.find(state.id) !== state) continue;
      flushIntervals(this.frame, state);
      state.unwrittenDecisions = 0;
      this.writes.states.push(this.#asWritten(state));
    }
    this.#unwritten.clear();
  }

  /**
   * Decides the open slots that can be, each for itself: the votes of one may make another one certain.
   *
   * @returns whether there was a verdict on votes of one of them
   */
  settle(state: MonitorState, monitor: LiveMonitor): boolean {
    this.ageByJump(state, monitor);
    let isDecided = false;
    for (let index = 0; index < state.open.length; ) {
      const open = state.open[index] as OpenSlot;
      if (this.#decision(state, monitor, open) === null) {
        index += 1;
        continue;
      }
      state.open.splice(index, 1);
      const before = state.votes;
      this.#decide(state, monitor, open);
      isDecided ||= state.votes !== before;
      index = 0;
    }
    return isDecided;
  }

  /**
   * Votes that expired while the slots' clock jumped leave the status `unknown` from then on, also where
   * the next decision comes before anybody has looked at their ages.
   */
  ageByJump(state: MonitorState, monitor: LiveMonitor): void {
    for (const vote of state.votes) {
      if (vote.expiresAt > this.#jumpedAt) continue;
      this.#age(state, monitor);
      return;
    }
  }

  /** Verdict on the votes that there are. */
  judge(state: MonitorState, monitor: LiveMonitor, slot: number | null): void {
    const electorate = this.electorate(state, monitor);
    const { status, reason } = verdict(state.votes, electorate, state.status, this.frame.now);
    const at = this.frame.instants.slotNow;
    if (changeStatus(this.frame, state, monitor, { status, reason, at, slot, electorate })) this.keep(state);
  }

  /** A slot off the grid of the monitor's period is not found again unless it is remembered. */
  keepFindable({ id, periodMs }: LiveMonitor, slot: number): void {
    if (!isOnGrid(id, slot, periodMs)) this.writes.offGridSlots.push({ monitorId: id, slot });
  }

  /** After a restart: a region has reported the slot, which is not decided. */
  reopened(state: MonitorState, monitor: LiveMonitor, report: Vote): void {
    const open = this.#openSlot(state, monitor, report.slot);
    open.given |= bitOf(report.region);
    open.answered |= bitOf(report.region);
    open.reports = [...open.reports, report];
  }

  /**
   * After a restart: these reports became votes `agoMs` ago. The verdict on them changed nothing, or the state
   * would have been written.
   */
  recast(state: MonitorState, monitor: LiveMonitor, reports: readonly Vote[], agoMs: number): void {
    const { now, oldestSlot } = this.#castingTime(monitor);
    const then = { now: now - agoMs, oldestSlot: oldestSlot - agoMs };
    const votable = reports.filter(({ slot }) => slot >= then.oldestSlot);
    state.votes = castVotes(state.votes, votable, then);
  }

  #decision(state: MonitorState, monitor: LiveMonitor, open: OpenSlot) {
    // Until dispatch has said to whom it was given, every region may have been, also for the first time.
    const joining = open.isGivenKnown ? open.given : ALL_REGIONS;
    return slotDecision(open, {
      votes: state.votes,
      electorate: this.electorate(state, monitor, joining),
      status: state.status,
      ...this.#castingTime(monitor),
      monotonic: this.#input.isTimeUp ? this.frame.instants.monotonic : Number.NEGATIVE_INFINITY,
    });
  }

  /** What was reported becomes the regions' votes, and the votes a verdict. */
  #decide(state: MonitorState, monitor: LiveMonitor, open: OpenSlot): void {
    if (open.slot > state.decidedSlot) {
      state.decidedSlot = open.slot;
      state.decidedAnswered = open.answered;
    }
    // Who had no agent for 24 h enters anew, with the first slot that it is given then.
    const entered = (state.entered & this.frame.electable) | open.given;
    if (entered !== state.entered) this.keep(state);
    state.entered = entered;
    const votes = castVotes(state.votes, this.#votable(monitor, open.reports), this.#castingTime(monitor));
    if (open.reports.length > 0) this.#decided.push({ state, slot: open.slot });
    if (votes === state.votes) {
      this.#age(state, monitor);
      return;
    }
    state.votes = votes;
    this.judge(state, monitor, open.slot);
    state.unwrittenDecisions += 1;
    if (state.unwrittenDecisions >= DECISIONS_PER_WRITE) this.keep(state);
  }

  /** A region says how its check of the slot went: a report while the slot is open, else a vote at once. */
  #voted(state: MonitorState, monitor: LiveMonitor, vote: Vote): void {
    // Votes that have aged may have made a slot certain: it is decided without this report then.
    if (state.votes.some(({ expiresAt }) => expiresAt <= this.frame.now)) this.settle(state, monitor);
    if (!isOver(state, vote.slot)) {
      const open = this.#openSlot(state, monitor, vote.slot);
      open.reports = withReport(open.reports, vote);
      this.#answer(state, monitor, open, vote.region);
      return;
    }
    if (vote.slot === state.decidedSlot) state.decidedAnswered |= bitOf(vote.region);
    const votes = castVotes(state.votes, this.#votable(monitor, [vote]), this.#castingTime(monitor));
    if (votes === state.votes) return;
    state.votes = votes;
    // Results of the newest decided slot and later ones are read back at a start.
    if (vote.slot < state.decidedSlot) this.keep(state);
    this.ageByJump(state, monitor);
    // What open slots make of it comes first: nothing is announced that they take back at once.
    if (this.settle(state, monitor)) return;
    this.judge(state, monitor, vote.slot);
    this.settle(state, monitor);
  }

  #answered(state: MonitorState, monitor: LiveMonitor, slot: number, region: Region): void {
    if (!isOver(state, slot)) this.#answer(state, monitor, this.#openSlot(state, monitor, slot), region);
  }

  #answer(state: MonitorState, monitor: LiveMonitor, open: OpenSlot, region: Region): void {
    open.given |= bitOf(region);
    open.answered |= bitOf(region);
    this.settle(state, monitor);
  }

  /** The first outcome that is not `not_run` stays, and it takes the place of a `not_run`. */
  #keepResult(monitor: LiveMonitor, { result, region, agent, prior }: Report): boolean {
    const { slot, outcome } = result;
    const known = this.#kept.of(monitor.id, slot, region) ?? prior;
    if (known !== null && (known !== 'not_run' || outcome === 'not_run')) return false;
    this.#kept.set(monitor.id, slot, region, outcome);
    this.writes.results.push({ result, region, agent, decidedAfterMs: null });
    this.keepFindable(monitor, slot);
    this.#repairRollUp(monitor.id, slot);
    return true;
  }

  #repairRollUp(monitorId: number, slot: number): void {
    if (slot < this.#input.rolledUpUntil) this.writes.repairs.push({ monitorId, slot });
  }

  /**
   * The state to evaluate for, or null when what is reported has no vote in it. The monitor is as it is declared
   * now: what dispatch tells may be about a job from before its period or its regions were changed.
   */
  #evaluated(
    monitorId: number,
    version: number,
    region?: Region,
  ): { readonly state: MonitorState; readonly monitor: LiveMonitor } | null {
    const monitor = this.monitor(monitorId);
    if (monitor === undefined || !isEvaluated(monitor, version, region)) return null;
    return { state: this.state(monitorId), monitor };
  }

  #vote(monitor: LiveMonitor, result: CheckResult, outcome: VoteOutcome, region: Region): Vote {
    const { slotNow } = this.frame.instants;
    return {
      region,
      outcome,
      slot: result.slot,
      at: slotNow,
      endedAt: checkEnd(result, slotNow),
      failedSince: outcome === 'failed' ? result.slot : null,
      upSlot: outcome === 'failed' ? 0 : result.slot,
      expiresAt: this.frame.now + freshForMs(monitor.periodMs, monitor.longestCheckMs),
      latency: result.latency ?? null,
      statusCode: result.status_code ?? null,
      errorMessage: result.error_message ?? null,
    };
  }

  /** Of these the ones that are not too old to say something about now, as votes that are cast now. */
  #votable(monitor: LiveMonitor, reports: readonly Vote[]): Vote[] {
    const { slotNow } = this.frame.instants;
    const oldest = this.#oldestVotable(monitor);
    const expiresAt = this.frame.now + freshForMs(monitor.periodMs, monitor.longestCheckMs);
    const votable: Vote[] = [];
    for (const vote of reports) {
      if (vote.slot < oldest) continue;
      const isOfNow = vote.at === slotNow && vote.expiresAt === expiresAt;
      votable.push(isOfNow ? vote : { ...vote, at: slotNow, expiresAt });
    }
    return votable;
  }

  #castingTime(monitor: LiveMonitor): CastingTime {
    return { now: this.frame.now, oldestSlot: this.#oldestVotable(monitor) };
  }

  /** Oldest slot that may still become a vote, epoch ms. */
  #oldestVotable({ periodMs, longestCheckMs }: LiveMonitor): number {
    return this.frame.instants.slotNow - votableForMs(periodMs, longestCheckMs);
  }

  /** It was given under a clock that was ahead. */
  #isAhead(slot: number): boolean {
    return slot > this.frame.instants.slotNow + BELIEVED_AHEAD_MS;
  }

  /** The open slot, made when a result or an abstention is the first to speak of it. */
  #openSlot(state: MonitorState, { periodMs }: LiveMonitor, slot: number): OpenSlot {
    const { slotNow, monotonic } = this.frame.instants;
    let index = state.open.length;
    while (index > 0 && (state.open[index - 1]?.slot ?? 0) > slot) index -= 1;
    const before = state.open[index - 1];
    if (before?.slot === slot) return before;
    const open: OpenSlot = {
      slot,
      given: NO_REGIONS,
      answered: NO_REGIONS,
      isGivenKnown: false,
      // A slot is given out a little ahead of its instant, never by a whole period.
      deadline: monotonic + Math.min(2 * periodMs, slot + periodMs - slotNow),
      reports: NONE,
    };
    state.open.splice(index, 0, open);
    return open;
  }

  /**
   * A restart reads from the results when their slot was decided. A decision that comes with none of its slot's
   * results is known from the state alone.
   */
  #dateDecisions(): void {
    const dated = new Set<string>();
    const { slotNow } = this.frame.instants;
    for (const row of this.writes.results) {
      const { monitor, slot, outcome } = row.result;
      const state = this.drafts.find(monitor);
      // Under a clock that was ahead nothing waits for it.
      if (outcome === 'not_run' || state === null || !(isOver(state, slot) || this.#isAhead(slot))) continue;
      row.decidedAfterMs = slotNow - slot;
      dated.add(slotKey(monitor, slot));
    }
    for (const { state, slot } of this.#decided) {
      if (!dated.has(slotKey(state.id, slot))) this.keep(state);
    }
  }

  #asWritten({ open, ...state }: MonitorState): WrittenState {
    const { now, instants } = this.frame;
    return {
      ...state,
      writtenAt: instants.slotNow,
      openSlots: open.map(({ slot }) => slot).filter((slot) => slot <= state.decidedSlot),
      votes: state.votes.map(({ expiresAt, ...vote }) => ({
        ...vote,
        countsUntil: Math.floor(instants.slotNow + expiresAt - now),
      })),
    };
  }

  /** Ageing alone changes a status only to `unknown`, dated at the expiry that left too few votes. */
  #age(state: MonitorState, monitor: LiveMonitor): void {
    if (state.status === 'unknown') return;
    const { now, instants } = this.frame;
    const electorate = this.electorate(state, monitor);
    const { failed, degraded, total } = tally(state.votes, electorate, now);
    if (statusOf(failed, degraded, total, sizeOf(electorate)) !== 'unknown') return;
    const expiredAt = quorumEndsAt(state.votes, electorate);
    const at = Math.floor(instants.slotNow - Math.max(0, now - (expiredAt ?? now)));
    const reason = unknownReason(electorate, expiredAt);
    changeStatus(this.frame, state, monitor, { status: 'unknown', reason, at, slot: null, electorate });
    this.keep(state);
  }
}

/** What is reported of this version (by this region) may be a vote. */
function isEvaluated(
  { active, version: declared, regions }: LiveMonitor,
  version: number,
  region?: Region,
): boolean {
  if (!active || declared !== version) return false;
  return region === undefined || regions === null || regions.includes(region);
}

/** Decided, or it never will be: nobody waits for anything about it. */
function isOver(state: MonitorState, slot: number): boolean {
  if (slot <= state.floorSlot) return true;
  return slot <= state.decidedSlot && !state.open.some((open) => open.slot === slot);
}

/** @param expiredAt null: the votes were never enough for the electorate, which has grown */
function unknownReason(electorate: RegionSet, expiredAt: number | null): TransitionReason {
  if (electorate === NO_REGIONS) return 'no-electorate';
  return expiredAt === null ? 'too-few-votes' : 'votes-expired';
}

function slotKey(monitorId: number, slot: number): string {
  return `${monitorId} ${slot}`;
}

/** The region's report takes the place of its earlier one. */
function withReport(reports: readonly Vote[], vote: Vote): readonly Vote[] {
  const others = reports.some(({ region }) => region === vote.region)
    ? reports.filter(({ region }) => region !== vote.region)
    : reports;
  return others.concat(vote);
}
