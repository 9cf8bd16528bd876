import type { Region } from '@svc/shared/regions.ts';
import type { RecordedRow } from '../../store/results/results-as-recorded.ts';
import type { PastAlert, PastChange } from '../../store/states/told-history.ts';
import { monitorDeclared } from '../../verdict/declared-effects.ts';
import { Evaluation } from '../../verdict/evaluation.ts';
import type { Windows } from '../../verdict/maintenance-window.ts';
import type { LiveMonitor } from '../../verdict/monitor.ts';
import { nextInstant } from '../../verdict/next-instant.ts';
import { bitOf, NO_REGIONS, type RegionSet } from '../../verdict/region-set.ts';
import { type MonitorState, newState, States } from '../../verdict/state.ts';
import { DAY_MS } from '../../verdict/summary-range.ts';

/** Where a replay begins. */
export type Beginning = Pick<MonitorState, 'status' | 'since' | 'incident' | 'incidentSince' | 'links'> & {
  /** Epoch ms. */
  readonly at: number;
};

export type ReplayParts = {
  /** As it is declared now, under the other settings. */
  readonly monitor: LiveMonitor;
  readonly windows: Windows;
  readonly closesIncidents: (providerType: string) => boolean;
  readonly beginning: Beginning;
};

/**
 * Tells the evaluation the stored results of one monitor again, in the order of their recording. It is an estimate: a
 * slot was given to the regions that have a result of it, every restart and set clock is left out, and the rest of the
 * declaration was always as it is now. A raised version of what is probed ends votes, as it did.
 */
export class Replay {
  readonly changes: PastChange[] = [];
  readonly alerts: PastAlert[] = [];
  readonly #parts: ReplayParts;
  readonly #states = new States();
  /** When each region last recorded a result, epoch ms. */
  readonly #seenAt = new Map<Region, number>();
  #monitor: LiveMonitor;
  #at: number;
  #keys = 0;

  constructor(parts: ReplayParts) {
    const { monitor, beginning } = parts;
    const { at, ...state } = beginning;
    this.#parts = parts;
    this.#monitor = { ...monitor, version: 0 };
    this.#at = at;
    this.#states.set({ ...newState(monitor.id, at), ...state });
  }

  /** Tells results that were recorded together. They come in the order of their recording. */
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

  /** Lets time pass: slots end, and votes age. `until`: epoch ms. */
  letTimePass(until: number): void {
    let looked = Number.NEGATIVE_INFINITY;
    for (;;) {
      const state = this.#states.get(this.#monitor.id);
      const next = state === undefined ? null : nextInstant(state, looked, 0);
      if (next === null || next >= until) return;
      this.#at = Math.max(this.#at, Math.ceil(next));
      looked = this.#at;
      const evaluation = this.#begin();
      evaluation.due(this.#monitor.id);
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

  /** Another version of what is probed. The first one ends nothing. */
  #probeAs(version: number, evaluation: Evaluation): void {
    const next = { ...this.#monitor, version };
    if (this.#monitor.version === 0) evaluation.declare(next.id, next);
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
      newKey: () => `replayed-${++this.#keys}`,
      newIncidentKey: () => `replayed-${++this.#keys}`,
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

  /** Regions with a result within 24 h. */
  #electable(): RegionSet {
    let electable = NO_REGIONS;
    for (const [region, at] of this.#seenAt) if (this.#at - at < DAY_MS) electable |= bitOf(region);
    return electable;
  }
}
