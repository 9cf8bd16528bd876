import type { OpenSlot } from '../domain/decision.ts';
import type { MonitorStatus } from '../domain/monitor.ts';
import { ALL_REGIONS, NO_REGIONS, type RegionSet } from '../domain/region-set.ts';
import type { Vote } from '../domain/status.ts';
import type { Announced, TransitionReason } from '../domain/transition.ts';

/** A channel that is enabled for the monitor, and what it was last told about it. */
export type Link = {
  readonly notificationId: number;
  readonly providerType: string;
  readonly announced: Announced;
  /** Key of the incident that the channel was told of. Null: none is open there. */
  readonly incident: string | null;
};

/**
 * While the status stays, its reason may change with every slot ("one of three regions fails"). An interval
 * keeps one of these reasons: from when it was first given until it was last, with gaps.
 */
export type ReasonInterval = {
  readonly reason: TransitionReason;
  /** Epoch ms. With the monitor and the reason it names the interval. */
  readonly at: number;
  readonly until: number;
  /** Decided slots with this reason. */
  readonly slots: number;
  /** It has changed since it was written. */
  readonly isUnwritten: boolean;
};

/** What the evaluation knows of one monitor. */
export type MonitorState = {
  readonly id: number;
  status: MonitorStatus;
  /** When it took this status, epoch ms. */
  since: number;
  reason: TransitionReason;
  /** Reasons that the status has had since, the present one included unless it began with the status. */
  intervals: readonly ReasonInterval[];
  /** Version of what is probed that the votes are about. Null: not known (written by an earlier version of svc). */
  version: number | null;
  /** Newest decided slot; 0 before the first. */
  decidedSlot: number;
  /** Regions that have said something about it, or may have: of the others nothing is recorded. */
  decidedAnswered: RegionSet;
  /** Results of this slot and older ones never vote: what they are about has ended (deactivated, changed). */
  floorSlot: number;
  /** Regions that were given a slot which is decided: only these are asked for votes. */
  entered: RegionSet;
  votes: readonly Vote[];
  /** Undecided slots, oldest first. */
  open: OpenSlot[];
  /** Key of the open incident. */
  incident: string | null;
  links: readonly Link[];
  /** Decisions since the state was written: votes between are read back from the results. */
  unwrittenDecisions: number;
};

const NONE: readonly never[] = [];

/**
 * A state whose status and reason stay is written with every so many decisions only: its page in the
 * database costs more than the results of its slot, and a restart has those.
 */
export const DECISIONS_PER_WRITE = 8;

/** @param since epoch ms */
export function newState(id: number, since: number): MonitorState {
  return {
    id,
    status: 'unknown',
    since,
    reason: 'too-few-votes',
    intervals: NONE,
    version: null,
    decidedSlot: 0,
    // After a start nobody knows.
    decidedAnswered: ALL_REGIONS,
    floorSlot: 0,
    entered: NO_REGIONS,
    votes: NONE,
    open: [],
    incident: null,
    links: NONE,
    // Monitors that were declared together are not written together.
    unwrittenDecisions: id % DECISIONS_PER_WRITE,
  };
}

/** The states of all monitors as of the last commit. */
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

  set(state: MonitorState): void {
    this.#states.set(state.id, state);
  }

  delete(id: number): void {
    this.#states.delete(id);
  }
}

/**
 * The states as one evaluation changes them: copies, which take the place of the originals after the
 * commit and are forgotten when it fails.
 */
export class Drafts {
  readonly #states: Pick<States, 'get'>;
  /** null: deleted. */
  readonly #drafts = new Map<number, MonitorState | null>();

  constructor(states: Pick<States, 'get'>) {
    this.#states = states;
  }

  /** The state to change, a new one with status `unknown` since `now` (epoch ms) where there is none. */
  open(id: number, now: number): MonitorState {
    return this.find(id) ?? this.put(newState(id, now));
  }

  /** The state to change. Null: there is none. */
  find(id: number): MonitorState | null {
    const draft = this.#drafts.get(id);
    if (draft !== undefined) return draft;
    const state = this.#states.get(id);
    return state === undefined ? null : this.put(copyOf(state));
  }

  put(state: MonitorState): MonitorState {
    this.#drafts.set(state.id, state);
    return state;
  }

  delete(id: number): void {
    this.#drafts.set(id, null);
  }

  /** What was changed, by id; null: deleted. */
  entries(): Iterable<readonly [id: number, state: MonitorState | null]> {
    return this.#drafts;
  }
}

/** Votes, reports, links and intervals are never changed in place, so the copy may share them. */
function copyOf(state: Readonly<MonitorState>): MonitorState {
  return { ...state, open: state.open.map((open) => ({ ...open })) };
}
