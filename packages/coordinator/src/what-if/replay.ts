import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import type { LiveMonitor, MonitorStatus } from '../domain/monitor.ts';
import { hasRegion, NO_REGIONS, type RegionSet } from '../domain/region-set.ts';
import { applyChange, type DeclaredChange } from '../evaluation/declared-change.ts';
import { Evaluation } from '../evaluation/evaluation.ts';
import type { Instants } from '../evaluation/frame.ts';
import { givenOfColumn } from '../evaluation/journal.ts';
import type {
  JournalEntry,
  JournalEvent,
  JournalledChange,
  JournalledLink,
  JournalledMonitor,
  JournalledRow,
  Surroundings,
} from '../evaluation/journal-entry.ts';
import { nextInstant } from '../evaluation/next-instant.ts';
import { restarted } from '../evaluation/restart.ts';
import { type Link, newState, States } from '../evaluation/state.ts';
import { storedAs } from './stored-as.ts';
import { altered, askedUnder, type DeclaredEffort, type OtherSettings } from './settings.ts';
import { instantOf, type Step } from './step.ts';

/**
 * An event of production comes first where it came within this time after the instant at which time alone would
 * have changed something, ms. Production looks a little late, and its journal says when.
 */
const LOOKED_WITHIN_MS = 1_000;

export type ReplayedChange = {
  readonly from: MonitorStatus;
  readonly to: MonitorStatus;
  readonly reason: string;
  /** Epoch ms. */
  readonly at: number;
};

export type ReplayedAlert = {
  readonly notificationId: number;
  readonly status: AlertStatus;
  /** When it was queued, epoch ms. */
  readonly at: number;
  /** When the status that it tells began, epoch ms. */
  readonly statusAt: number;
  /** Whether it ends an incident without a recovery. */
  readonly isClosure: boolean;
};

/** Where a replay begins. */
export type Beginning = {
  /** Epoch ms on the slots' clock. */
  readonly at: number;
  /** The declaration then; null: the monitor did not exist. */
  readonly monitor: JournalledMonitor | null;
  readonly links: readonly Link[];
  readonly status: MonitorStatus;
  readonly since: number;
  /** Key of the open incident, and when it began; null: there is none. */
  readonly incident: string | null;
  readonly incidentSince: number | null;
  readonly surroundings: Surroundings;
};

export type ReplayParts = {
  /** As it is declared now. */
  readonly present: LiveMonitor;
  readonly effort: DeclaredEffort;
  readonly settings: OtherSettings;
  readonly closesIncidents: (providerType: string) => boolean;
  readonly beginning: Beginning;
};

/**
 * Tells the evaluation again what it was told about one monitor, with other settings. With unchanged settings
 * every change of status and every alert comes out as it was.
 *
 * Steps must come in their order. Between two of them time passes: where production looked at the monitor because
 * time had changed something, its journal says so. Under other settings something else may be due, which the
 * replay finds by the rule of production (`nextInstant`).
 */
export class Replay {
  readonly changes: ReplayedChange[] = [];
  readonly alerts: ReplayedAlert[] = [];
  readonly #parts: ReplayParts;
  readonly #asked: RegionSet;
  readonly #states = new States();
  /** As it is declared at this point, without the other settings and with them. */
  #declared: JournalledMonitor | null = null;
  #monitor: LiveMonitor | null = null;
  #around: Surroundings;
  #isHeld = false;
  #isTimeUp = true;
  #at: number;
  #keys = 0;

  constructor(parts: ReplayParts) {
    const { beginning, settings, present } = parts;
    this.#parts = parts;
    this.#asked = askedUnder(settings);
    this.#around = beginning.surroundings;
    this.#at = beginning.at;
    if (beginning.monitor === null) return;
    this.#declare(beginning.monitor);
    const { status, since, incident, incidentSince, links, surroundings } = beginning;
    this.#states.set({
      ...newState(present.id, since),
      ...{ status, incident, incidentSince, links },
      version: beginning.monitor.version,
      // A region that had an agent was given slots long before.
      entered: surroundings.electable & this.#asked,
    });
  }

  get status(): MonitorStatus {
    return this.#states.get(this.#parts.present.id)?.status ?? 'unknown';
  }

  tell(step: Step): void {
    if ('entry' in step && step.entry.event.is === 'surroundings') {
      this.#surround(step.entry.at, step.entry.event);
      return;
    }
    this.pass(instantOf(step) - LOOKED_WITHIN_MS);
    this.#at = Math.max(this.#at, instantOf(step));
    if ('row' in step) this.#report(step.row);
    else this.#event(step.entry);
  }

  /** Lets time pass until an instant, epoch ms. */
  pass(until: number): void {
    const { id } = this.#parts.present;
    let looked = Number.NEGATIVE_INFINITY;
    while (this.#isTimeUp) {
      const state = this.#states.get(id);
      if (state === undefined) return;
      const { ageAheadMs, monotonicAheadMs } = this.#around;
      const next = nextInstant(state, looked, ageAheadMs - monotonicAheadMs);
      if (next === null) return;
      const at = Math.max(this.#at, Math.ceil(next - monotonicAheadMs));
      if (at > until) return;
      this.#at = at;
      looked = at + ageAheadMs;
      this.#evaluate((evaluation) => evaluation.due(id));
    }
  }

  #surround(at: number, around: Surroundings): void {
    if (around.isStart) {
      // Nobody looked between the end of the former process and this start.
      this.#at = Math.max(this.#at, at);
      this.#restart(around);
      return;
    }
    const jumpedMs = Math.max(0, this.#around.monotonicAheadMs - around.monotonicAheadMs);
    this.pass(at - jumpedMs - LOOKED_WITHIN_MS);
    this.#at = Math.max(this.#at, at);
    this.#around = around;
    if (around.isResumed) this.#isTimeUp = true;
  }

  /** Restores the state as a start of the coordinator does. */
  #restart(around: Surroundings): void {
    const state = this.#states.get(this.#parts.present.id);
    const stored = state === undefined ? null : storedAs(state, this.#around, this.#at);
    this.#around = around;
    this.#isHeld = false;
    this.#isTimeUp = around.isResumed;
    if (stored === null) return;
    this.#evaluate((evaluation) => restarted(evaluation, stored, this.#monitor ?? undefined));
  }

  #report(row: JournalledRow): void {
    const monitor = this.#monitor;
    if (monitor === null || !hasRegion(this.#asked, row.region)) return;
    const { slot, region, version, outcome, latency, statusCode, errorMessage, attempts } = row;
    const given = this.#declared === null ? null : givenOfColumn(row.given, this.#declared);
    const result = {
      ...{ monitor: monitor.id, version, slot, token: '', outcome, started_at: slot },
      attempts: [...attempts],
      ...(latency === null ? {} : { latency }),
      ...(statusCode === null ? {} : { status_code: statusCode }),
      ...(errorMessage === null ? {} : { error_message: errorMessage }),
    };
    this.#evaluate((evaluation) => {
      this.#open(evaluation, monitor, version, slot, given);
      evaluation.reported(monitor, { result, region, agent: '', prior: null, isOfferedAgain: false });
    });
  }

  #event({ event }: JournalEntry): void {
    const { id } = this.#parts.present;
    switch (event.is) {
      case 'declared':
        this.#change(event);
        return;
      case 'held':
        this.#isHeld = true;
        return;
      case 'announced':
        this.#isHeld = false;
        this.#evaluate((evaluation) => evaluation.announced(id));
        return;
      case 'due':
        this.#isTimeUp = true;
        this.#evaluate((evaluation) => evaluation.due(id));
        return;
      case 'resumed-all':
        this.#isTimeUp = true;
        this.#evaluate((evaluation) => evaluation.resumedAll(id));
        return;
      case 'surroundings':
        return;
      default:
        this.#slotEvent(event);
    }
  }

  #slotEvent(event: Extract<JournalEvent, { slot: number }>): void {
    const monitor = this.#monitor;
    if (monitor === null) return;
    const { slot } = event;
    this.#evaluate((evaluation) => {
      if (event.is === 'resumed') {
        evaluation.resumed(monitor, slot, event.waitedFor & this.#asked);
        return;
      }
      this.#open(evaluation, monitor, monitor.version, slot, event.given);
      if (event.is === 'opened' || !hasRegion(this.#asked, event.region)) return;
      if (event.is === 'excused') evaluation.skipped(monitor, slot, event.region);
      else evaluation.answered(monitor, slot, event.region);
    });
  }

  #open(
    evaluation: Evaluation,
    monitor: LiveMonitor,
    version: number,
    slot: number,
    given: RegionSet | null,
  ): void {
    const asked = given === null ? NO_REGIONS : given & this.#asked;
    if (asked !== NO_REGIONS && version === monitor.version) evaluation.opened(monitor, slot, asked);
  }

  #change({ change, before, linksBefore }: Extract<JournalEvent, { is: 'declared' }>): void {
    // A replay that began without the declaration learns it here.
    if (this.#declared === null && before !== null) this.#learn(before, linksBefore);
    const declared = change.kind === 'monitor' ? change.monitor : null;
    const monitor = declared === null ? null : this.#altered(declared);
    this.#evaluate((evaluation) => {
      for (const each of this.#declaredChanges(change, monitor)) applyChange(evaluation, each);
    });
    if (declared !== null) this.#declare(declared);
  }

  #declaredChanges(change: JournalledChange, monitor: LiveMonitor | null): DeclaredChange[] {
    const monitorId = this.#parts.present.id;
    switch (change.kind) {
      case 'monitor':
        return [{ kind: 'monitor', monitorId, monitor, removed: null }];
      case 'linked':
        return [{ ...change, kind: 'linked', monitorId }];
      case 'channel':
        return [{ ...change, kind: 'channel' }];
      case 'unlinked':
        return [{ ...change, kind: 'unlinked', monitorId, link: null }];
      case 'channel-removed':
        return [{ ...change, kind: 'channel-removed' }];
      default:
        return change satisfies never;
    }
  }

  #learn(declared: JournalledMonitor, links: readonly JournalledLink[]): void {
    this.#declare(declared);
    this.#states.set({
      ...newState(this.#parts.present.id, this.#at),
      version: declared.version,
      links: links.map((link) => ({ ...link, announced: 'active', incident: null })),
    });
  }

  #declare(declared: JournalledMonitor): void {
    this.#declared = declared;
    this.#monitor = this.#altered(declared);
  }

  #altered(declared: JournalledMonitor): LiveMonitor {
    const { present, effort, settings } = this.#parts;
    return altered(present, effort, declared, settings);
  }

  #evaluate(tell: (evaluation: Evaluation) => void): void {
    const evaluation = new Evaluation({
      states: this.#states,
      monitors: { get: () => this.#monitor ?? undefined },
      instants: this.#instants(),
      electable: this.#around.electable,
      rolledUpUntil: 0,
      isHeld: () => this.#isHeld,
      isTimeUp: () => this.#isTimeUp,
      newKey: () => `replayed-${++this.#keys}`,
      newIncidentKey: () => `replayed-${++this.#keys}`,
      closesIncidents: this.#parts.closesIncidents,
    });
    tell(evaluation);
    evaluation.finish();
    for (const [id, state] of evaluation.drafts.entries()) {
      if (state === null) this.#states.delete(id);
      else this.#states.set(state);
    }
    this.#collect(evaluation);
  }

  #collect({ changes, writes }: Evaluation): void {
    for (const { from, to, reason, at } of changes) this.changes.push({ from, to, reason, at });
    for (const { notificationId, alert } of writes.deliveries) {
      const { status, at: statusAt, closure } = alert;
      this.alerts.push({ notificationId, status, at: this.#at, statusAt, isClosure: closure !== undefined });
    }
  }

  #instants(): Instants {
    const { ageAheadMs, monotonicAheadMs, jumpedAt } = this.#around;
    const jumpedMs = ageAheadMs - monotonicAheadMs;
    return {
      wall: this.#at,
      slotNow: this.#at,
      monotonic: this.#at + monotonicAheadMs,
      jumpedMs,
      jumpedAt: jumpedAt === null ? null : jumpedAt - jumpedMs,
    };
  }
}
