import type { OpenSlot } from './decision.ts';
import type { MonitorStatus } from './monitor.ts';
import { ALL_REGIONS, NO_REGIONS, type RegionSet } from './region-set.ts';
import type { Vote } from './status.ts';
import type { Announced, TransitionReason } from './transition.ts';

/** A channel that is enabled for the monitor, with the last status that was announced to it. */
export type Link = {
  readonly notificationId: number;
  readonly providerType: string;
  /**
   * Version of the channel's row when the link was made, or when the channel became one of another kind. A
   * link that is made anew has a later one, so that its alerts are not taken for those of the former link.
   */
  readonly version: number;
  readonly announced: Announced;
  /** Key of the incident that was announced to the channel; null: none is open there. */
  readonly incident: string | null;
  /** When that incident began, epoch ms; absent or null: not known. */
  readonly incidentSince?: number | null;
  /** Whether something was announced to the channel since the start. Otherwise the link is as in its row. */
  readonly isTold?: boolean;
};

/**
 * An interval in which an unchanged status had one reason, from the first time to the last, with gaps. The
 * reason may change with every slot ("one of three regions fails").
 */
export type ReasonInterval = {
  readonly reason: TransitionReason;
  /** Begin, epoch ms. It names the interval together with the monitor and the reason. */
  readonly at: number;
  readonly until: number;
  /** Decided slots with this reason. */
  readonly slots: number;
  /** Whether it has changed since it was written. */
  readonly isUnwritten: boolean;
};

/** Everything that the evaluation knows about one monitor. */
export type MonitorState = {
  readonly id: number;
  status: MonitorStatus;
  /**
   * Names the last change of status, `unknown` apart: the slot that made it, epoch ms, or the instant after
   * the change before, if that is later. It follows from the reports alone, so the change keeps its name when
   * they are evaluated again. 0: there was none.
   */
  statusSlot: number;
  /** Begin of the status, epoch ms. */
  since: number;
  reason: TransitionReason;
  /**
   * Reasons that the status has had since its begin. The present one is included, unless the status began
   * with it.
   */
  intervals: readonly ReasonInterval[];
  /** Version of the probed attributes that the votes are about; null: no region has voted yet. */
  version: number | null;
  /** Newest decided slot; 0 before the first. */
  decidedSlot: number;
  /**
   * Regions that have answered the newest decided slot, or may have. No result of other regions is recorded
   * for it.
   */
  decidedAnswered: RegionSet;
  /**
   * Results of this slot and older ones never vote: the monitor was deactivated or its probed attributes
   * changed.
   */
  floorSlot: number;
  /** Regions that were given a decided slot. Only their votes count. */
  entered: RegionSet;
  votes: readonly Vote[];
  /** Undecided slots, oldest first. */
  open: OpenSlot[];
  /** Whether this process has decided one of its slots. */
  isDecided: boolean;
  /** Key of the open incident. */
  incident: string | null;
  /** When the open incident began, epoch ms; null: there is none, or its begin is not known. */
  incidentSince: number | null;
  links: readonly Link[];
};

const NONE: readonly never[] = [];

/** The shared empty list of open slots, for committed states. */
const NO_OPEN: OpenSlot[] = [];

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** @param since epoch ms */
export function newState(id: number, since: number): MonitorState {
  return {
    id,
    status: 'unknown',
    statusSlot: 0,
    since,
    reason: 'too-few-votes',
    intervals: NONE,
    version: null,
    decidedSlot: 0,
    // After a start it is not known which regions have answered.
    decidedAnswered: ALL_REGIONS,
    floorSlot: 0,
    entered: NO_REGIONS,
    votes: NONE,
    open: [],
    isDecided: false,
    incident: null,
    incidentSince: null,
    links: NONE,
  };
}

/** The open slot of the state; undefined: it is decided, or no event was about it. */
export function openSlotOf({ open }: Readonly<MonitorState>, slot: number): OpenSlot | undefined {
  // By index, here and in the functions around: a closure would be made several times for each report.
  for (let index = 0; index < open.length; index += 1) {
    if (open[index]?.slot === slot) return open[index];
  }
  return undefined;
}

/**
 * The states of all monitors as of the last commit. A changed state stays the same object, and so do its
 * votes: new objects for each commit would outlive V8's young generation, and make most of the work of
 * collecting the old one. Code that reads votes must not keep them over a wait.
 */
export class States {
  readonly #states = new Map<number, MonitorState>();

  get size(): number {
    return this.#states.size;
  }

  get(id: number): Readonly<MonitorState> | undefined {
    return this.#states.get(id);
  }

  values(): Iterable<Readonly<MonitorState>> {
    return this.#states.values();
  }

  /** Takes over the content of `state`, which must not be changed afterwards. */
  set(state: MonitorState): void {
    const standing = this.#states.get(state.id);
    if (standing === undefined) this.#states.set(state.id, withSharedNone(state));
    else replace(standing, state);
  }

  delete(id: number): void {
    this.#states.delete(id);
  }
}

/**
 * The states as one evaluation changes them. They are copies, which replace the originals after the commit
 * and are dropped when it fails.
 */
export class Drafts {
  readonly #states: Pick<States, 'get'>;
  /** The drafts by id; null: deleted. */
  readonly #drafts = new Map<number, MonitorState | null>();

  constructor(states: Pick<States, 'get'>) {
    this.#states = states;
  }

  /** The state to change. If there is none, it is created with status `unknown` since `now` (epoch ms). */
  openDraft(id: number, now: number): MonitorState {
    return this.findDraft(id) ?? this.putDraft(newState(id, now));
  }

  /** The state to change; null: there is none. */
  findDraft(id: number): MonitorState | null {
    const draft = this.#drafts.get(id);
    if (draft !== undefined) return draft;
    const state = this.#states.get(id);
    return state === undefined ? null : this.putDraft(copyOf(state));
  }

  putDraft(state: MonitorState): MonitorState {
    this.#drafts.set(state.id, state);
    return state;
  }

  deleteDraft(id: number): void {
    this.#drafts.set(id, null);
  }

  /** Calls `visit` for each changed state; null: deleted. */
  forEach(visit: (state: MonitorState | null, id: number) => void): void {
    this.#drafts.forEach(visit);
  }
}

/** Replaces the empty lists of a new state by shared ones, which saves 32 bytes each for every monitor. */
function withSharedNone(state: MonitorState): MonitorState {
  if (state.open.length === 0) state.open = NO_OPEN;
  if (state.intervals.length === 0) state.intervals = NONE;
  if (state.links.length === 0) state.links = NONE;
  return state;
}

/**
 * Copies everything from `state` into `standing`. Each member is assigned by itself, here and for votes,
 * because `Object.assign` takes ten times as long.
 */
function replace(standing: MonitorState, state: Readonly<MonitorState>): void {
  standing.status = state.status;
  standing.statusSlot = state.statusSlot;
  standing.since = state.since;
  standing.reason = state.reason;
  standing.intervals = state.intervals;
  standing.version = state.version;
  standing.decidedSlot = state.decidedSlot;
  standing.decidedAnswered = state.decidedAnswered;
  standing.floorSlot = state.floorSlot;
  standing.entered = state.entered;
  standing.votes = takenOver(standing.votes, state.votes);
  // Drafts copy the array before they change it, so all states may share the empty one.
  standing.open = state.open.length === 0 ? NO_OPEN : state.open;
  standing.isDecided = state.isDecided;
  standing.incident = state.incident;
  standing.incidentSince = state.incidentSince;
  standing.links = state.links;
}

/**
 * The votes, written into the standing objects. A new object for each report would make most of the work of
 * collecting the old generation.
 */
function takenOver(standing: readonly Vote[], votes: readonly Vote[]): readonly Vote[] {
  if (!haveSameRegions(standing, votes)) return votes;
  for (let index = 0; index < votes.length; index += 1) {
    const kept = standing[index] as Writable<Vote>;
    const vote = votes[index] as Vote;
    if (kept !== vote) replaceVote(kept, vote);
  }
  return standing;
}

function haveSameRegions(some: readonly Vote[], others: readonly Vote[]): boolean {
  if (some.length !== others.length) return false;
  for (let index = 0; index < some.length; index += 1) {
    if (some[index]?.region !== others[index]?.region) return false;
  }
  return true;
}

function replaceVote(standing: Writable<Vote>, vote: Vote): void {
  standing.region = vote.region;
  standing.outcome = vote.outcome;
  standing.slot = vote.slot;
  standing.at = vote.at;
  standing.endedAt = vote.endedAt;
  standing.failedSince = vote.failedSince;
  standing.upSlot = vote.upSlot;
  standing.expiresAt = vote.expiresAt;
  standing.latency = vote.latency;
  standing.statusCode = vote.statusCode;
  standing.errorMessage = vote.errorMessage;
}

/**
 * Copies a state. Drafts never change votes, reports, links and intervals in place, so the copy may share
 * them.
 */
function copyOf(state: Readonly<MonitorState>): MonitorState {
  return { ...state, open: state.open.map((open) => ({ ...open })) };
}
