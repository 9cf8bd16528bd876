import type { SlotVerdict } from './confirmation.ts';
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
   * Version of the channel's row when the link was made, or when the channel got another kind. If a link is
   * removed and made again, the new link has a later version, so that alerts of the new link are not taken
   * for alerts of the former link.
   */
  readonly version: number;
  readonly announced: Announced;
  /**
   * Key of the incident that was announced to the channel; null: no announced incident is open in the
   * channel.
   */
  readonly incident: string | null;
  /** When the announced incident began, epoch ms; absent or null: not known. */
  readonly incidentSince?: number | null;
  /**
   * Whether something was announced over this link since the leadership began. False or absent: the link equals its
   * stored row.
   */
  readonly isTold?: boolean;
};

/**
 * An interval from the first to the last time at which an unchanged status had this reason. Between them the
 * status may also have had other reasons. The reason may change with every slot ("one of three regions
 * fails").
 */
export type ReasonInterval = {
  readonly reason: TransitionReason;
  /** Beginning, epoch ms. Monitor, reason and beginning together identify the interval. */
  readonly at: number;
  readonly until: number;
  /** Number of verdicts with this reason: of decided slots, and of votes that a late report changed. */
  readonly slots: number;
  /** Whether the interval has changed since it was last written. */
  readonly isUnwritten: boolean;
};

/** Everything that the evaluation knows about one monitor. */
export type MonitorState = {
  readonly id: number;
  status: MonitorStatus;
  /**
   * Identifies the last change to a status other than `unknown`: the slot that made the
   * change, or the first of the slots in a row that made it (the newest decided slot if no
   * slot made it), epoch ms, but at least 1 more than for the previous change. It follows from the reports alone, so the change has the
   * same identity when the reports are evaluated again. 0: there was no such change yet.
   */
  statusSlot: number;
  /** Beginning of the status, epoch ms. */
  since: number;
  reason: TransitionReason;
  /**
   * Reasons that the status got after its beginning, each with its newest interval. The reason with which the status
   * began is included only if it came back.
   */
  intervals: readonly ReasonInterval[];
  /**
   * Version of the probed attributes that the votes are about, as of the last change of the declaration that
   * was evaluated; null: none was evaluated yet.
   */
  version: number | null;
  /** Newest slot that was decided, or closed without a decision, epoch ms; 0: there is none. */
  decidedSlot: number;
  /**
   * Regions that have answered the newest decided slot, or may have answered it. For
   * this slot no result of any other region is recorded.
   */
  decidedAnswered: RegionSet;
  /**
   * Results of this slot and of older slots never become votes: the monitor was deactivated or its probed
   * attributes changed.
   */
  floorSlot: number;
  /**
   * Regions that have entered the electorate: with the decision of their first slot, or earlier (`canEnter` in
   * `slot-life.ts`). Only their votes count. A region that the monitor no longer declares has left, and so has a
   * region that had no agent for 24 h when a slot was decided.
   */
  entered: RegionSet;
  /**
   * Whether slots from before the start may have been given to a region that has not entered: the monitor had such a
   * region at the start, or no stored state, and no slot from after the start is decided.
   */
  mayLackRegion: boolean;
  votes: readonly Vote[];
  /** Verdicts of the newest slots, oldest first. Empty if each verdict changes the status at once. */
  verdicts: readonly SlotVerdict[];
  /** Undecided slots, oldest first. */
  open: OpenSlot[];
  /** Whether a slot of the monitor was decided since the leadership of its shard began. */
  isDecided: boolean;
  /** Key of the open incident; null: no incident is open. */
  incident: string | null;
  /** When the open incident began, epoch ms; null: no incident is open, or its beginning is not known. */
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
    mayLackRegion: true,
    votes: NONE,
    verdicts: NONE,
    open: [],
    isDecided: false,
    incident: null,
    incidentSince: null,
    links: NONE,
  };
}

/** The open slot of the state; undefined: the slot is decided, or no event has mentioned it. */
export function openSlotOf({ open }: Readonly<MonitorState>, slot: number): OpenSlot | undefined {
  // The functions of this file loop by index, because a closure would be made several times for each report.
  for (let index = 0; index < open.length; index += 1) {
    if (open[index]?.slot === slot) return open[index];
  }
  return undefined;
}

/**
 * The states of all monitors as of the last commit. A changed state stays the same object, and so do its votes
 * as long as their regions stay the same: new objects for each commit would outlive V8's young generation, and
 * would cause most of the work of collecting the old generation. Code that reads votes must not keep them while
 * it awaits.
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
 * and are dropped when the commit fails.
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

  /** Calls `visit` for each draft; null: the state was deleted. */
  forEach(visit: (state: MonitorState | null, id: number) => void): void {
    this.#drafts.forEach(visit);
  }
}

/** Replaces the empty lists of a new state by shared ones, which saves 32 bytes each for every monitor. */
function withSharedNone(state: MonitorState): MonitorState {
  if (state.open.length === 0) state.open = NO_OPEN;
  if (state.intervals.length === 0) state.intervals = NONE;
  if (state.links.length === 0) state.links = NONE;
  if (state.verdicts.length === 0) state.verdicts = NONE;
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
  standing.mayLackRegion = state.mayLackRegion;
  standing.votes = takenOver(standing.votes, state.votes);
  standing.verdicts = state.verdicts;
  // All states may share the empty array, because drafts copy the array before they change it.
  standing.open = state.open.length === 0 ? NO_OPEN : state.open;
  standing.isDecided = state.isDecided;
  standing.incident = state.incident;
  standing.incidentSince = state.incidentSince;
  standing.links = state.links;
}

/**
 * Copies `votes` into the objects of `standing` and returns `standing`, if both have
 * the same regions; otherwise returns `votes`. New objects for each report would
 * cause most of the work of collecting V8's old generation.
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
 * Copies a state. Drafts never change votes, verdicts, reports,
 * links and intervals in place, so the copy may share them.
 */
function copyOf(state: Readonly<MonitorState>): MonitorState {
  return { ...state, open: state.open.map((open) => ({ ...open })) };
}
