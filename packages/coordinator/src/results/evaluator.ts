import type { Clock } from '@svc/shared/clock.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor, LiveMonitors, MonitorStatus } from '../domain/monitor.ts';
import { ALL_REGIONS, bitOf, NO_REGIONS, type RegionSet, regionsOf } from '../domain/region-set.ts';
import type { TransitionReason } from '../domain/transition.ts';
import type { Outbox } from '../notify/enqueue.ts';
import type { Transaction } from '../store/store.ts';
import { Evaluation } from './evaluation-step.ts';
import { nextInstant } from './instants.ts';
import type { MonitorState, States } from './states.ts';
import type { TransitionVote } from './stored-votes.ts';

/** What the evaluation needs to know of regions; dispatch keeps it. */
export interface RegionPresence {
  /** It has, or had within the last 24 h, a live agent. */
  hadAgentWithin24h(region: Region): boolean;
  /** Regions with a live agent now. */
  live(): readonly Region[];
}

/** The slots' clock; dispatch keeps it. */
export interface SlotTime {
  /** Epoch ms; never goes back. */
  now(): number;
  /** What its jumps forward come to so far, ms: votes are older by as much than the monotonic clock says. */
  readonly jumpedMs: number;
  /** Monotonic instant of the last one; null: there was none. */
  readonly jumpedAt: number | null;
  /** Told of each jump, in the middle of whatever reads the clock. */
  onJump(listener: () => void): () => void;
}

export type EvaluatorParts = {
  states: States;
  monitors: LiveMonitors;
  presence: RegionPresence;
  outbox: Outbox;
  /** Results with a slot before it (epoch ms) have their hour rolled up again; `Rollups` is one. */
  rollups: { readonly claimedUntil: number };
  clock: Clock;
  slotClock: SlotTime;
};

/** A change of status, told after its commit. */
export type StatusChange = {
  monitor: LiveMonitor;
  from: MonitorStatus;
  to: MonitorStatus;
  reason: TransitionReason;
  /** Epoch ms. */
  at: number;
  /** The slot whose decision changed it; null when none did (ageing, a changed declaration). */
  slot: number | null;
  votes: readonly TransitionVote[];
};

/** Opens one {@link Evaluation} per transaction and puts its outcome into memory after the commit. */
export class Evaluator {
  readonly parts: EvaluatorParts;
  readonly #evaluations = new WeakMap<Transaction, Evaluation>();
  readonly #listeners = new Set<(change: StatusChange) => void>();
  #onInstant: (monitorId: number, at: number) => void = () => {};

  constructor(parts: EvaluatorParts) {
    this.parts = parts;
  }

  /** The transaction's evaluation: the recorder's events and the effects of a declaration share it. */
  in(tx: Transaction): Evaluation {
    const known = this.#evaluations.get(tx);
    if (known !== undefined) return known;
    const evaluation = new Evaluation(this.parts, tx, this.#electable());
    this.#evaluations.set(tx, evaluation);
    tx.onCommit(() => this.#apply(evaluation));
    return evaluation;
  }

  /** Called after the commit; what a listener throws is the store's to log. Returns a function that unregisters. */
  onTransition(listener: (change: StatusChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** `listener` is told when a monitor is to be looked at next, monotonic ms. One listener: the recorder. */
  onInstant(listener: (monitorId: number, at: number) => void): void {
    this.#onInstant = listener;
  }

  /** Tells the listener of instants when the monitor is to be looked at, votes that expired before `now` aside. */
  arm(state: Readonly<MonitorState>, now: number): void {
    const at = nextInstant(state, now, this.parts.slotClock.jumpedMs);
    if (at !== null) this.#onInstant(state.id, at);
  }

  #electable(): RegionSet {
    const { presence } = this.parts;
    let set = NO_REGIONS;
    for (const region of regionsOf(ALL_REGIONS)) {
      if (presence.hadAgentWithin24h(region)) set |= bitOf(region);
    }
    return set;
  }

  #apply(evaluation: Evaluation): void {
    evaluation.drafts.apply((state) => this.arm(state, evaluation.now));
    for (const change of evaluation.changes) {
      for (const listener of this.#listeners) listener(change);
    }
  }
}
