import { type Admission, admittedPerSecond, type Load, nextAdmission, OPEN } from '../domain/admission.ts';
import {
  type Evenness,
  evenedAt,
  fairParts,
  neededCredit,
  nextSlot,
  type Parts,
  partsOf,
  withCredit,
} from '../domain/fair-slots.ts';
import { FINEST_PERIOD_MS, spreadOf } from '../domain/schedule.ts';

/** Number of values over which first credits are spread. */
const FIRST_CREDITS = 1_000;

/** Time for which a gate is watched after it has opened, ms. It ends before the memory of the overload is returned. */
const WATCHED_MS = 15_000;

/** Time after which an open gate forgets who has waited, ms. */
const FORGET_AFTER_MS = 600_000;

/**
 * Part of the difference by which the usual rate follows the present rate in each step, up and down. It falls
 * slowly, so that it outlasts a pause.
 */
const USUAL_UP = 0.1;
const USUAL_DOWN = 0.005;

/**
 * Times over which the jobs of slots that ask early are averaged, ms: while some are skipped, that after which a skipped first
 * slot asks again.
 */
const ASKED_OVER_MS = FINEST_PERIOD_MS;
const ASKED_OVER_WHILE_OPEN_MS = 2_000;
/** Less is forgotten, jobs per second. */
const LEAST_EARLY_PER_SECOND = 0.01;

/** What is admitted of a workspace. */
type Flow = {
  /** Jobs per ms. */
  perMs: number;
  evenness: Evenness;
  /**
   * Most jobs of a slot that the workspace has asked for. All its slots are evened over the same time: otherwise those
   * with few jobs find too much admitted after each one with many.
   */
  mostJobs: number;
};

/** Jobs of a workspace that were asked for early since the last step, and per second as an average. */
type Early = { jobs: number; perSecond: number };

/** A slot that asks for admission. */
export type GatedSlot = {
  /** Epoch ms. */
  readonly slot: number;
  /** Number of its jobs. */
  readonly jobs: number;
  /** The part of its period since the monitor could ask the last time: 1 on the grid, less where a slot asks early. */
  readonly ofPeriod: number;
  /**
   * False: the slot is not admitted where its workspace is limited. Its monitor goes on waiting, and is one of the next.
   */
  readonly isInTime: boolean;
  /** Slots by which its monitor waits for less, because the slot runs elsewhere; below 0: for more. */
  readonly sooner?: number;
};

/** What was seen since the last step. */
type Observed = Pick<Load, 'pressure' | 'waits' | 'donePerSecond'>;

/** Admits as many jobs as can be done: all of them, or a fair part of each workspace's jobs. */
export class Gate {
  #admission: Admission = OPEN;
  /** By workspace; a workspace without an entry is admitted whole. */
  #parts: ReadonlyMap<number, Parts> = new Map();
  /** What is admitted of limited workspaces. */
  readonly #flows = new Map<number, Flow>();
  /** What is asked for early in all workspaces, also while the gate is open: new monitors alone can be too much. */
  readonly #early = new Map<number, Early>();
  /**
   * The credits of all monitors that were limited here. They are kept when the gate opens: the monitor that was skipped
   * last is the first to run when it closes again.
   */
  readonly #credits = new Map<number, number>();
  /** Jobs done per second while the gate was open and nothing was wrong. */
  #usualPerSecond = 0;
  /** Sum of all steps, ms. */
  #nowMs = 0;
  #closedAtMs = Number.NEGATIVE_INFINITY;
  /** When slots were skipped the last time. */
  #limitedAtMs = Number.NEGATIVE_INFINITY;

  get isOpen(): boolean {
    return this.#admission.is === 'open';
  }

  /** Whether it is closed or has just opened: what was too much may be so again. */
  get isWatched(): boolean {
    return !this.isOpen || this.#nowMs - this.#closedAtMs < WATCHED_MS;
  }

  /**
   * Whether less than everything is admitted, or was until just now. A limit above what is asked may stay for hours.
   *
   * @param moreMs time by which what has ended counts longer
   */
  hasLimited(moreMs = 0): boolean {
    return this.#nowMs - this.#limitedAtMs < WATCHED_MS + moreMs;
  }

  /** Admitted jobs per second; infinite while the gate is open. */
  get perSecond(): number {
    return admittedPerSecond(this.#admission);
  }

  /** The part of the workspace's usual jobs that is admitted. */
  partOf(workspaceId: number): number {
    return this.#parts.get(workspaceId)?.usual ?? 1;
  }

  /**
   * @param asked requested jobs per second by workspace; called only when needed
   * @returns true when the gate has just closed
   */
  step(
    { pressure, waits, donePerSecond }: Observed,
    asked: () => ReadonlyMap<number, number>,
    elapsedMs: number,
  ): boolean {
    this.#pass(elapsedMs);
    this.#averageEarly(elapsedMs);
    if (this.isOpen && (pressure === 'free' || pressure === 'busy')) {
      if (pressure === 'free') this.#followUsual(donePerSecond);
      return false;
    }
    const declared = asked();
    let askedPerSecond = 0;
    for (const [workspaceId, rate] of declared) askedPerSecond += rate + this.#earlyPerSecond(workspaceId);
    const usualPerSecond = this.#usualPerSecond;
    const hasJustEnded = this.isOpen && this.isWatched;
    const load: Load = { pressure, hasJustEnded, waits, donePerSecond, usualPerSecond, askedPerSecond };
    const wasOpen = this.isOpen;
    this.#admission = nextAdmission(this.#admission, load, elapsedMs);
    this.#limit(declared);
    if (this.#parts.size > 0) this.#limitedAtMs = this.#nowMs;
    return wasOpen && !this.isOpen;
  }

  /** Counts what asks early. To be called once per slot while the gate is open; {@link admits} does it otherwise. */
  countAsked(workspaceId: number, { jobs, ofPeriod }: Pick<GatedSlot, 'jobs' | 'ofPeriod'>): void {
    if (ofPeriod >= 1) return;
    const asked = jobs * (1 - ofPeriod);
    const early = this.#early.get(workspaceId);
    if (early === undefined) this.#early.set(workspaceId, { jobs: asked, perSecond: 0 });
    else early.jobs += asked;
  }

  /**
   * Whether this slot of the monitor is admitted. To be called once per slot while the gate is closed.
   */
  admits(monitorId: number, workspaceId: number, asking: GatedSlot): boolean {
    const { slot, jobs, ofPeriod, isInTime, sooner } = asking;
    this.countAsked(workspaceId, asking);
    const parts = this.#parts.get(workspaceId);
    if (parts === undefined) return true;
    const flow = this.#flows.get(workspaceId) as Flow;
    const { perMs } = flow;
    flow.mostJobs = Math.max(flow.mostJobs, jobs);
    flow.evenness = evenedAt(flow.evenness, slot, perMs, flow.mostJobs);
    const needed = isInTime ? neededCredit(flow.evenness, perMs, flow.mostJobs) : Number.POSITIVE_INFINITY;
    const before = this.#credits.get(monitorId) ?? firstCredit(monitorId);
    const part = parts.usual * ofPeriod + parts.early * (1 - ofPeriod);
    const { isAdmitted, credit } = nextSlot(before, part, needed, sooner);
    this.#credits.set(monitorId, credit);
    if (isAdmitted) flow.evenness = { ...flow.evenness, left: flow.evenness.left - jobs };
    return isAdmitted;
  }

  /** So much of a slot that was admitted did not run: its monitor waits for less. Without effect where it was never limited. */
  giveBack(monitorId: number, part: number): void {
    const credit = this.#credits.get(monitorId);
    if (credit !== undefined) this.#credits.set(monitorId, withCredit(credit, part));
  }

  #averageEarly(elapsedMs: number): void {
    const part = Math.min(1, elapsedMs / (this.isOpen ? ASKED_OVER_WHILE_OPEN_MS : ASKED_OVER_MS));
    for (const [workspaceId, early] of this.#early) {
      const seen = (early.jobs * 1_000) / elapsedMs;
      early.perSecond += (seen - early.perSecond) * part;
      early.jobs = 0;
      if (early.perSecond < LEAST_EARLY_PER_SECOND) this.#early.delete(workspaceId);
    }
  }

  /** Jobs per second that are asked for early, beside the declared ones. */
  #earlyPerSecond(workspaceId: number): number {
    return this.#early.get(workspaceId)?.perSecond ?? 0;
  }

  /** Divides what is admitted. */
  #limit(declared: ReadonlyMap<number, number>): void {
    const parts = new Map<number, Parts>();
    const asked = new Map([...declared].map(([id, rate]) => [id, rate + this.#earlyPerSecond(id)]));
    const limited = this.isOpen ? new Map<number, number>() : fairParts(asked, this.perSecond);
    for (const [workspaceId, part] of limited) {
      const share = part * (asked.get(workspaceId) as number);
      const usual = declared.get(workspaceId) as number;
      parts.set(workspaceId, partsOf(share, usual, this.#earlyPerSecond(workspaceId)));
      const flow = this.#flows.get(workspaceId);
      if (flow === undefined) {
        this.#flows.set(workspaceId, { perMs: share / 1_000, evenness: { left: 0, at: 0 }, mostJobs: 0 });
      } else flow.perMs = share / 1_000;
    }
    for (const workspaceId of this.#flows.keys())
      if (!parts.has(workspaceId)) this.#flows.delete(workspaceId);
    this.#parts = parts;
  }

  #followUsual(donePerSecond: number): void {
    const difference = donePerSecond - this.#usualPerSecond;
    this.#usualPerSecond += difference * (difference > 0 ? USUAL_UP : USUAL_DOWN);
  }

  #pass(elapsedMs: number): void {
    this.#nowMs += elapsedMs;
    if (!this.isOpen) this.#closedAtMs = this.#nowMs;
    if (this.#credits.size > 0 && this.#nowMs - this.#closedAtMs >= FORGET_AFTER_MS) this.#credits.clear();
  }

  forget(monitorId: number): void {
    if (this.#credits.size > 0) this.#credits.delete(monitorId);
  }
}

/** First credits are spread, so that not all monitors are skipped in the same round. */
function firstCredit(monitorId: number): number {
  return spreadOf(monitorId, FIRST_CREDITS) / FIRST_CREDITS;
}
