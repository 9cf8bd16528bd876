import type { CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { castVotes, type OpenSlot, slotDecision } from '../domain/decision.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import { bitOf, hasRegion, NO_REGIONS, type RegionSet, regionSet, sizeOf } from '../domain/region-set.ts';
import { isOnGrid } from '../domain/schedule.ts';
import {
  electorateOf,
  freshForMs,
  quorumEndsAt,
  statusOf,
  tally,
  type Vote,
  verdict,
  votableForMs,
} from '../domain/status.ts';
import type { Transaction } from '../store/store.ts';
import type { EvaluatorParts, StatusChange } from './evaluator.ts';
import { RecordingStatements } from './statements.ts';
import { DECISIONS_PER_WRITE, Drafts, type MonitorState } from './states.ts';
import { StatusChanges } from './status-changes.ts';

const NONE: readonly never[] = [];

/**
 * The evaluation inside one transaction: records results, decides slots, casts votes and changes
 * statuses, on drafts of the states. All instants are those of its beginning.
 */
export class Evaluation {
  readonly drafts: Drafts;
  readonly rows: RecordingStatements;
  /** For ages of votes, ms: see `Vote.expiresAt`. */
  readonly now: number;
  /** The slots' clock, epoch ms. */
  readonly slotNow: number;
  readonly statusChanges: StatusChanges;
  readonly #parts: EvaluatorParts;
  /** Regions that had an agent within 24 h. */
  readonly #electable: RegionSet;
  /** Monitors as this transaction declares them. */
  readonly #declared = new Map<number, LiveMonitor>();
  readonly #unwritten = new Set<MonitorState>();
  readonly #wall: number;
  /** For deadlines of slots, ms. */
  readonly #monotonic: number;
  /** End of the last jump of the slots' clock, as `now`. */
  readonly #jumpedAt: number;

  constructor(parts: EvaluatorParts, tx: Transaction, electable: RegionSet) {
    this.#parts = parts;
    this.#electable = electable;
    this.drafts = new Drafts(parts.states);
    this.rows = RecordingStatements.of(tx.sqlite);
    this.#wall = parts.clock.wall();
    const { slotClock } = parts;
    // First: this is what notices a jump.
    this.slotNow = slotClock.now();
    this.#monotonic = parts.clock.monotonic();
    this.now = this.#monotonic + slotClock.jumpedMs;
    this.#jumpedAt = (slotClock.jumpedAt ?? Number.NEGATIVE_INFINITY) + slotClock.jumpedMs;
    this.statusChanges = new StatusChanges(tx, this.rows, parts.outbox);
  }

  get changes(): readonly StatusChange[] {
    return this.statusChanges.made;
  }

  monitor(id: number): LiveMonitor | undefined {
    return this.#declared.get(id) ?? this.#parts.monitors.get(id);
  }

  /** From here on this transaction sees the monitor as it will be declared. */
  declare(monitor: LiveMonitor): void {
    this.#declared.set(monitor.id, monitor);
  }

  state(monitorId: number): MonitorState {
    return this.drafts.open(monitorId, this.slotNow);
  }

  electorate(monitor: LiveMonitor): RegionSet {
    return electorateOf(monitor.regions === null ? null : regionSet(monitor.regions), this.#electable);
  }

  /** The slot was given to `regions`. */
  opened(monitor: LiveMonitor, slot: number, given: RegionSet): void {
    const state = this.#evaluated(monitor.id, monitor.version);
    if (state === null || slot <= state.decidedSlot) return;
    const open = this.#openSlot(state, monitor, slot);
    open.given |= given;
    open.isGivenKnown = true;
    this.#settle(state, monitor);
  }

  /** After a restart: of the slot's regions only `waitedFor` may still report. */
  resumed(monitor: LiveMonitor, slot: number, waitedFor: RegionSet): void {
    const state = this.#evaluated(monitor.id, monitor.version);
    if (state === null || slot <= state.decidedSlot) return;
    const open = this.#openSlot(state, monitor, slot);
    open.given |= open.answered | waitedFor;
    open.isGivenKnown = true;
    this.#settle(state, monitor);
  }

  /** After a restart: slots that nobody named in {@link resumed} wait for nobody. */
  resumedAll(monitorId: number): void {
    const monitor = this.monitor(monitorId);
    if (monitor === undefined) return;
    const state = this.state(monitorId);
    for (const open of state.open) {
      if (open.isGivenKnown) continue;
      open.given = open.answered;
      open.isGivenKnown = true;
    }
    this.#settle(state, monitor);
  }

  /**
   * Records what a region reports.
   *
   * @param isReoffered with `not_run`: the job is offered again, so the region has not answered yet
   * @returns false for a repeated result, which changes nothing
   */
  result(
    monitor: LiveMonitor,
    result: CheckResult,
    region: Region,
    agent: string,
    isReoffered: boolean,
  ): boolean {
    if (!this.rows.insertResult(result, region, agent, this.#wall)) return false;
    this.#keepFindable(monitor, result.slot);
    this.#markIfRolledUp(monitor.id, result.slot);
    const state = this.#evaluated(monitor.id, result.version, region);
    if (state === null || result.slot <= state.floorSlot) return true;
    const vote = this.#report(monitor, result, region);
    if (result.slot <= state.decidedSlot) {
      if (vote !== null) state.stragglers = castVotes(state.stragglers, [vote]);
      return true;
    }
    if (vote === null && isReoffered) return true;
    const open = this.#openSlot(state, monitor, result.slot);
    if (vote !== null) open.reports = [...open.reports, vote];
    this.#answer(state, monitor, open, region);
    return true;
  }

  /** The region will not report the slot; kept as a `not_run` row. */
  abstained(monitor: LiveMonitor, slot: number, region: Region, reason: NotRunReason): void {
    const { id: monitorId, version } = monitor;
    const job = { monitorId, version, slot, region, reason };
    if (this.rows.insertAbstention(job, this.#wall)) this.#markIfRolledUp(monitorId, slot);
    this.#keepFindable(this.monitor(monitorId) ?? monitor, slot);
    this.skipped(monitor, slot, region);
  }

  /** The region is not asked about the slot: its check of an earlier one still runs. */
  skipped(monitor: LiveMonitor, slot: number, region: Region): void {
    const state = this.#evaluated(monitor.id, monitor.version, region);
    if (state === null || slot <= state.decidedSlot) return;
    this.#answer(state, monitor, this.#openSlot(state, monitor, slot), region);
  }

  /** Time has passed: deadlines of slots, ages of votes. */
  due(monitorId: number): void {
    const monitor = this.monitor(monitorId);
    if (monitor === undefined || this.#parts.states.get(monitorId) === undefined) return;
    const state = this.state(monitorId);
    this.#settle(state, monitor);
    this.#age(state, monitor);
  }

  /**
   * Votes that expired while the slots' clock jumped leave the status `unknown` from then on, also where
   * the next decision comes before anybody has looked at their ages.
   */
  ageByJump(state: MonitorState, monitor: LiveMonitor): void {
    if (state.votes.some((vote) => vote.expiresAt <= this.#jumpedAt)) this.#age(state, monitor);
  }

  /** Verdict on the votes there are, for a changed electorate. */
  judge(state: MonitorState, monitor: LiveMonitor, slot: number | null): void {
    const electorate = this.electorate(monitor);
    const { status, reason } = verdict(state.votes, electorate, this.now);
    this.statusChanges.change(state, monitor, {
      status,
      reason,
      at: this.slotNow,
      slot,
      electorate,
      now: this.now,
    });
  }

  /** Writes the states that are to be written; the last thing before the commit. */
  finish(): void {
    for (const state of this.#unwritten) {
      this.rows.writeState(state);
      state.unwrittenDecisions = 0;
    }
    this.#unwritten.clear();
  }

  /** Before the monitor's period changes to that of `after`: what a restart needs lies on the grid that was. */
  keepUndecidedFindable(state: MonitorState, after: LiveMonitor): void {
    if (state.decidedSlot > 0) this.#keepFindable(after, state.decidedSlot);
    for (const { slot } of state.open) this.#keepFindable(after, slot);
  }

  #markIfRolledUp(monitorId: number, slot: number): void {
    if (slot < this.#parts.rollups.claimedUntil) this.rows.markForRepair(monitorId, slot);
  }

  #keepFindable(monitor: LiveMonitor, slot: number): void {
    if (!isOnGrid(monitor.id, slot, monitor.periodMs)) this.rows.rememberSlot(monitor.id, slot);
  }

  /** The state to evaluate for, or null when what is reported has no vote in it. */
  #evaluated(monitorId: number, version: number, region?: Region): MonitorState | null {
    const monitor = this.monitor(monitorId);
    if (monitor === undefined || !monitor.active || monitor.version !== version) return null;
    if (region !== undefined && monitor.regions !== null && !monitor.regions.includes(region)) return null;
    return this.state(monitorId);
  }

  /** The result as the vote that it becomes when its slot is decided; null for `not_run`. */
  #report(monitor: LiveMonitor, result: CheckResult, region: Region): Vote | null {
    if (result.outcome === 'not_run') return null;
    return {
      region,
      outcome: result.outcome,
      slot: result.slot,
      at: this.slotNow,
      expiresAt: this.now + freshForMs(monitor.periodMs, monitor.longestCheckMs),
      latency: result.latency ?? null,
      statusCode: result.status_code ?? null,
      errorMessage: result.error_message ?? null,
    };
  }

  /** The open slot, made when a result or an abstention is the first to speak of it. */
  #openSlot(state: MonitorState, monitor: LiveMonitor, slot: number): OpenSlot {
    let index = state.open.length;
    while (index > 0 && (state.open[index - 1]?.slot ?? 0) > slot) index -= 1;
    const before = state.open[index - 1];
    if (before?.slot === slot) return before;
    const open: OpenSlot = {
      slot,
      given: NO_REGIONS,
      answered: NO_REGIONS,
      isGivenKnown: false,
      deadline: this.#monotonic + Math.min(monitor.periodMs, slot + monitor.periodMs - this.slotNow),
      reports: NONE,
    };
    state.open.splice(index, 0, open);
    return open;
  }

  #answer(state: MonitorState, monitor: LiveMonitor, open: OpenSlot, region: Region): void {
    open.given |= bitOf(region);
    open.answered |= bitOf(region);
    this.#settle(state, monitor);
  }

  #settle(state: MonitorState, monitor: LiveMonitor): void {
    this.ageByJump(state, monitor);
    const electorate = this.electorate(monitor);
    const instants = { now: this.now, monotonic: this.#monotonic };
    for (let open = state.open[0]; open !== undefined; open = state.open[0]) {
      const earlier = castVotes(state.votes, state.stragglers);
      if (slotDecision(open, earlier, electorate, instants) === null) return;
      state.open.shift();
      state.decidedSlot = open.slot;
      this.#cast(state, monitor, open);
    }
  }

  /** The slot is decided: what was reported becomes the regions' votes, and the votes a verdict. */
  #cast(state: MonitorState, monitor: LiveMonitor, open: OpenSlot): void {
    const oldest = this.slotNow - votableForMs(monitor.periodMs, monitor.longestCheckMs);
    const expiresAt = this.now + freshForMs(monitor.periodMs, monitor.longestCheckMs);
    const news: Vote[] = [];
    for (const vote of state.stragglers) {
      if (vote.slot >= oldest) news.push({ ...vote, at: this.slotNow, expiresAt });
    }
    for (const vote of open.reports) {
      if (vote.slot >= oldest) news.push({ ...vote, at: this.slotNow, expiresAt });
    }
    state.stragglers = NONE;
    const votes = castVotes(state.votes, news);
    if (votes === state.votes) {
      this.#age(state, monitor);
      return;
    }
    state.votes = votes;
    const { status, reason } = state;
    this.judge(state, monitor, open.slot);
    state.unwrittenDecisions += 1;
    const isNew = state.status !== status || state.reason !== reason;
    if (isNew || state.unwrittenDecisions >= DECISIONS_PER_WRITE) this.#unwritten.add(state);
  }

  /** Ageing alone changes a status only to `unknown`, dated at the expiry that left too few votes. */
  #age(state: MonitorState, monitor: LiveMonitor): void {
    if (state.status === 'unknown') return;
    const electorate = this.electorate(monitor);
    const { failed, degraded, total } = tally(state.votes, electorate, this.now);
    if (statusOf(failed, degraded, total, sizeOf(electorate)) !== 'unknown') return;
    const expiredAt = quorumEndsAt(state.votes, electorate) ?? this.now;
    const at = this.slotNow - Math.max(0, this.now - expiredAt);
    const reason = electorate === NO_REGIONS ? 'no-electorate' : 'votes-expired';
    const change = { status: 'unknown', reason, at, slot: null, electorate, now: this.now } as const;
    this.statusChanges.change(state, monitor, change);
    this.#unwritten.add(state);
  }

  /** Votes of regions that are not the monitor's any more go at once. */
  dropRegions(state: MonitorState, monitor: LiveMonitor): void {
    const regions = monitor.regions;
    if (regions === null) return;
    const declared = regionSet(regions);
    const isDeclared = (vote: Vote) => hasRegion(declared, vote.region);
    for (const open of state.open) {
      open.given &= declared;
      open.answered &= declared;
      open.reports = open.reports.filter(isDeclared);
    }
    state.stragglers = state.stragglers.filter(isDeclared);
    const votes = state.votes.filter(isDeclared);
    if (votes.length < state.votes.length) {
      state.votes = votes;
      this.#unwritten.add(state);
      this.judge(state, monitor, null);
    }
    this.#settle(state, monitor);
  }
}
