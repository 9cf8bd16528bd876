import type { OpenSlot } from '../domain/decision.ts';
import type { MonitorStatus } from '../domain/monitor.ts';
import type { Vote } from '../domain/status.ts';
import type { TransitionReason } from '../domain/transition.ts';

/** What the evaluation knows of one monitor. */
export type MonitorState = {
  readonly id: number;
  status: MonitorStatus;
  /** When it took this status, epoch ms. */
  since: number;
  reason: TransitionReason;
  /** Newest decided slot; 0 before the first. */
  decidedSlot: number;
  /** Results of this slot and older ones never vote: what they are about has ended (deactivated, changed). */
  floorSlot: number;
  votes: readonly Vote[];
  /** Results of decided slots: they become votes with the next decision. */
  stragglers: readonly Vote[];
  /** Undecided slots, oldest first; decided in this order. */
  open: OpenSlot[];
  /** Key of the open incident. */
  incident: string | null;
  /** Decisions since the state was written: votes between are read back from the results. */
  unwrittenDecisions: number;
};

const NONE: readonly never[] = [];

/**
 * A state whose status and reason stay is written with every so many decisions only: its page in the
 * database costs more than the results of its slot, and a restart has those.
 */
export const DECISIONS_PER_WRITE = 8;

export function newState(id: number, since: number): MonitorState {
  return {
    id,
    status: 'unknown',
    since,
    reason: 'too-few-votes',
    decidedSlot: 0,
    floorSlot: 0,
    votes: NONE,
    stragglers: NONE,
    open: [],
    incident: null,
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
 * The states as one transaction changes them: copies, which take the place of the originals after the
 * commit and are forgotten with a rollback.
 */
export class Drafts {
  readonly #states: States;
  /** null: deleted. */
  readonly #drafts = new Map<number, MonitorState | null>();

  constructor(states: States) {
    this.#states = states;
  }

  /** The state to change, new ones with status `unknown` since `now` (epoch ms). */
  open(id: number, now: number): MonitorState {
    const draft = this.#drafts.get(id);
    if (draft) return draft;
    const state = draft === undefined ? this.#states.get(id) : undefined;
    const copy = state === undefined ? newState(id, now) : copyOf(state);
    this.#drafts.set(id, copy);
    return copy;
  }

  delete(id: number): void {
    this.#drafts.set(id, null);
  }

  /** After the commit. `onApplied` is told of each state that stays. */
  apply(onApplied: (state: MonitorState) => void): void {
    for (const [id, draft] of this.#drafts) {
      if (draft === null) {
        this.#states.delete(id);
      } else {
        this.#states.set(draft);
        onApplied(draft);
      }
    }
  }
}

/** Votes, stragglers and reports are never changed in place, so the copy may share them. */
function copyOf(state: Readonly<MonitorState>): MonitorState {
  return { ...state, open: state.open.map(copyOfSlot) };
}

function copyOfSlot(open: OpenSlot): OpenSlot {
  return { ...open };
}
