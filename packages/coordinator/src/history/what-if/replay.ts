import type { Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import type { PastAlert, PastChange, RecordedRow } from '../../store/history/replayed-history.ts';
import { monitorDeclared } from '../../verdict/declared-effects.ts';
import { DerivedIds } from '../../verdict/derived-ids.ts';
import { Evaluation } from '../../verdict/evaluation.ts';
import type { Windows } from '../../verdict/maintenance-window.ts';
import type { LiveMonitor } from '../../verdict/monitor.ts';
import { nextInstant } from '../../verdict/next-instant.ts';
import { bitOf, NO_REGIONS, type RegionSet, union } from '../../verdict/region-set.ts';
import { type MonitorState, newState, States } from '../../verdict/state.ts';
import { DAY_MS } from '../../verdict/summary-range.ts';

/** The ids of a replay's alerts. The key need not be secret, because a replay sends no alerts. */
const REPLAYED_IDS = new DerivedIds('replayed', new Secret(new Uint8Array(32)));

/** The state of the monitor when the replay begins. */
export type Beginning = Pick<MonitorState, 'status' | 'since' | 'incident' | 'incidentSince' | 'links'> & {
  /** Epoch ms. */
  readonly at: number;
};

export type ReplayParts = {
  /** The present monitor with the other settings. */
  readonly monitor: LiveMonitor;
  readonly windows: Windows;
  readonly closesIncidents: (providerType: string) => boolean;
  readonly beginning: Beginning;
};

/**
 * Feeds the stored results of one monitor to the evaluation again, in the order of their recording. The
 * outcome is an estimate. The replay assumes that each slot was given to exactly the regions that have a
 * result for it. It leaves out restarts and changes of the clock. It assumes that all other settings never
 * changed, except that a new version of the probed attributes ends votes.
 */
export class Replay {
  readonly changes: PastChange[] = [];
  readonly alerts: PastAlert[] = [];
  readonly #parts: ReplayParts;
  readonly #states = new States();
  /** When the last result of each region was recorded, epoch ms. */
  readonly #seenAt = new Map<Region, number>();
  #monitor: LiveMonitor;
  #at: number;

  constructor(parts: ReplayParts) {
    const { monitor, beginning } = parts;
    const { at, ...state } = beginning;
    this.#parts = parts;
    this.#monitor = { ...monitor, version: 0 };
    this.#at = at;
    this.#states.set({ ...newState(monitor.id, at), ...state });
  }

  /**
   * Evaluates results that were recorded together. Call this method in
   * the order in which the results were recorded.
   */
  replayResults(rows: readonly RecordedRow[]): void {
    const [first] = rows;
    if (first === undefined) return;
    this.letTimePass(first.recordedAt);
    this.#at = Math.max(this.#at, first.recordedAt);
    for (const { region } of rows) this.#seenAt.set(region, this.#at);
    const evaluation = this.#begin();
    for (const row of rows) this.#report(evaluation, row);
    this.#end(evaluation);
  }

  /** Lets the time pass until an instant (epoch ms). Slots end and votes expire meanwhile. */
  letTimePass(until: number): void {
    let looked = Number.NEGATIVE_INFINITY;
    for (;;) {
      const state = this.#states.get(this.#monitor.id);
      const next = state === undefined ? null : nextInstant(state, looked, 0);
      if (next === null || next >= until) return;
      this.#at = Math.max(this.#at, Math.ceil(next));
      looked = this.#at;
      const evaluation = this.#begin();
      evaluation.timePassed(this.#monitor.id);
      this.#end(evaluation);
    }
  }

  #report(evaluation: Evaluation, row: RecordedRow): void {
    const { slot, region, version, outcome, latency, statusCode, errorMessage } = row;
    if (version > this.#monitor.version) this.#probeAs(version, evaluation);
    const monitor = this.#monitor;
    if (version !== monitor.version || monitor.regions?.includes(region) === false) return;
    evaluation.opened(monitor, slot, row.given);
    if (outcome === 'not_run') {
      evaluation.answered(monitor, slot, region);
      return;
    }
    const result = {
      ...{ monitor: monitor.id, version, slot, token: '', outcome, started_at: slot },
      attempts: [...row.attempts],
      ...(latency === null ? {} : { latency }),
      ...(statusCode === null ? {} : { status_code: statusCode }),
      ...(errorMessage === null ? {} : { error_message: errorMessage }),
    };
    evaluation.reported(monitor, { result, region, agent: '', prior: null, isOfferedAgain: false });
  }

  /** Continues with another version of the probed attributes. The first version of a replay ends no votes. */
  #probeAs(version: number, evaluation: Evaluation): void {
    const next = { ...this.#monitor, version };
    if (this.#monitor.version === 0) evaluation.setDeclared(next.id, next);
    else monitorDeclared(evaluation, next);
    this.#monitor = next;
  }

  #begin(): Evaluation {
    const at = this.#at;
    return new Evaluation({
      states: this.#states,
      monitors: { get: () => this.#monitor },
      windows: this.#parts.windows,
      instants: { wall: at, slotNow: at, monotonic: at, jumpedMs: 0, jumpedAt: null },
      electable: this.#electable(),
      rolledUpUntil: 0,
      isHeld: () => false,
      isResumed: true,
      ids: REPLAYED_IDS,
      closesIncidents: this.#parts.closesIncidents,
    });
  }

  #end(evaluation: Evaluation): void {
    evaluation.drafts.forEach((state) => {
      if (state !== null) this.#states.set(state);
    });
    for (const { from, to, reason, at } of evaluation.changes) this.changes.push({ from, to, reason, at });
    for (const { notificationId, alert } of evaluation.writes.deliveries)
      this.alerts.push({ notificationId, status: alert.status, at: this.#at });
  }

  /** The regions with a result in the last 24 h of the replay's time. */
  #electable(): RegionSet {
    let electable = NO_REGIONS;
    for (const [region, at] of this.#seenAt)
      if (this.#at - at < DAY_MS) electable = union(electable, bitOf(region));
    return electable;
  }
}
