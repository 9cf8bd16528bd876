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
import type { Windows } from '../evaluation/windows.ts';
import type { PastAlert, PastChange } from '../store/told-history.ts';
import { altered, askedUnder, type DeclaredEffort, type OtherSettings } from './settings.ts';
import { instantOf, type Step } from './step.ts';
import { StoredSoFar } from './stored-so-far.ts';

/**
 * An event of production comes first where it came within this time after the instant at which time alone would
 * have changed something, ms. Production looks a little late, and its journal says when.
 */
export const LOOKED_WITHIN_MS = 1_000;

export type ReplayedAlert = PastAlert & {
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
  /** Its maintenance windows. */
  readonly windows: Windows;
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
 * Steps must come in their order; those of one instant were one evaluation. Between two of them time passes: where production looked at the monitor because
 * time had changed something, its journal says so. Under other settings something else may be due, which the
 * replay finds by the rule of production (`nextInstant`).
 */
export class Replay {
  readonly changes: PastChange[] = [];
  readonly alerts: ReplayedAlert[] = [];
  readonly #parts: ReplayParts;
  readonly #asked: RegionSet;
  readonly #states = new States();
  readonly #stored = new StoredSoFar();
  /** As it is declared at this point, without the other settings and with them. */
  #declared: JournalledMonitor | null = null;
  #monitor: LiveMonitor | null = null;
  #around: Surroundings;
  #isHeld = false;
  #windows: Windows;
  #isTimeUp = true;
  /** The evaluation of the present instant; null: none has begun. */
  #evaluation: Evaluation | null = null;
  #at: number;
  #keys = 0;

  constructor(parts: ReplayParts) {
    const { beginning, settings, present } = parts;
    this.#parts = parts;
    this.#asked = askedUnder(settings);
    this.#around = beginning.surroundings;
    this.#at = beginning.at;
    this.#windows = beginning.windows;
    if (beginning.monitor === null) return;
    this.#declare(beginning.monitor);
    const { status, since, incident, incidentSince, links, surroundings } = beginning;
    const state = {
      ...newState(present.id, since),
      ...{ status, incident, incidentSince, links },
      version: beginning.monitor.version,
      // A region that had an agent was given slots long before.
      entered: surroundings.electable & this.#asked,
    };
    this.#states.set(state);
    this.#stored.write({
      states: [{ ...state, votes: [], openSlots: [], writtenAt: this.#at }],
      results: [],
    });
  }

  tell(step: Step): void {
    const at = instantOf(step);
    if ('entry' in step && step.entry.event.is === 'surroundings') {
      this.#commit();
      this.#surround(at, step.entry.event);
      return;
    }
    if (at !== this.#at) this.#commit();
    if (this.#evaluation === null) this.#pass(at - LOOKED_WITHIN_MS);
    this.#at = Math.max(this.#at, at);
    this.#evaluation ??= this.#begin();
    if ('row' in step) this.#report(this.#evaluation, step.row);
    else this.#event(this.#evaluation, step.entry);
  }

  /** Lets time pass until an instant, epoch ms. It is the last call. */
  finish(until: number): void {
    this.#commit();
    this.#pass(until);
  }

  /** What time alone changes until an instant. */
  #pass(until: number): void {
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
      this.#evaluation = this.#begin();
      this.#evaluation.due(id);
      this.#commit();
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
    this.#pass(at - jumpedMs - LOOKED_WITHIN_MS);
    this.#at = Math.max(this.#at, at);
    this.#around = around;
    if (around.isResumed) this.#isTimeUp = true;
  }

  /** Restores the state as a start of the coordinator does. */
  #restart(around: Surroundings): void {
    const links = this.#states.get(this.#parts.present.id)?.links ?? [];
    const stored = this.#stored.read(this.#monitor, links, this.#at);
    this.#around = around;
    this.#isHeld = false;
    this.#isTimeUp = around.isResumed;
    if (stored === null) return;
    this.#evaluation = this.#begin();
    restarted(this.#evaluation, stored, this.#monitor ?? undefined);
    this.#commit();
  }

  #report(evaluation: Evaluation, row: JournalledRow): void {
    const monitor = this.#monitor;
    if (monitor === null || !hasRegion(this.#asked, row.region)) return;
    const { slot, region, version, outcome, latency, statusCode, errorMessage, attempts } = row;
    const given = this.#declared === null ? null : givenOfColumn(row.given, this.#declared);
    this.#open(evaluation, version, slot, given);
    const result = {
      ...{ monitor: monitor.id, version, slot, token: '', outcome, started_at: slot },
      attempts: [...attempts],
      ...(latency === null ? {} : { latency }),
      ...(statusCode === null ? {} : { status_code: statusCode }),
      ...(errorMessage === null ? {} : { error_message: errorMessage }),
    };
    evaluation.reported(monitor, { result, region, agent: '', prior: null, isOfferedAgain: false });
  }

  #event(evaluation: Evaluation, { event }: JournalEntry): void {
    const { id } = this.#parts.present;
    switch (event.is) {
      case 'declared':
        this.#change(evaluation, event);
        return;
      case 'held':
        this.#isHeld = true;
        return;
      case 'maintenance': {
        const { windowId, times } = event;
        const window = times === null ? null : { id: windowId, monitorIds: [id], times };
        evaluation.windowChanged(windowId, window);
        return;
      }
      case 'announced':
        this.#isHeld = false;
        evaluation.announced(id);
        return;
      case 'due':
        this.#isTimeUp = true;
        evaluation.due(id);
        return;
      case 'resumed-all':
        this.#isTimeUp = true;
        evaluation.resumedAll(id);
        return;
      case 'surroundings':
        return;
      default:
        this.#slotEvent(evaluation, event);
    }
  }

  #slotEvent(evaluation: Evaluation, event: Extract<JournalEvent, { slot: number }>): void {
    const monitor = this.#monitor;
    if (monitor === null) return;
    const { slot } = event;
    if (event.is === 'resumed') {
      evaluation.resumed(monitor, slot, event.waitedFor & this.#asked);
      return;
    }
    this.#open(evaluation, monitor.version, slot, event.given);
    if (event.is === 'opened' || !hasRegion(this.#asked, event.region)) return;
    if (event.is === 'excused') evaluation.skipped(monitor, slot, event.region);
    else evaluation.answered(monitor, slot, event.region);
  }

  /** Tells that the slot was given out. Where it is known already, this changes nothing. */
  #open(evaluation: Evaluation, version: number, slot: number, given: RegionSet | null): void {
    const asked = given === null ? NO_REGIONS : given & this.#asked;
    if (this.#monitor === null || asked === NO_REGIONS || version !== this.#monitor.version) return;
    evaluation.opened(this.#monitor, slot, asked);
  }

  #change(
    evaluation: Evaluation,
    { change, before, linksBefore }: Extract<JournalEvent, { is: 'declared' }>,
  ): void {
    // A replay that began without the declaration learns it here.
    if (this.#declared === null && before !== null) this.#learn(evaluation, before, linksBefore);
    const declared = change.kind === 'monitor' ? change.monitor : null;
    if (declared !== null) this.#declare(declared);
    applyChange(evaluation, this.#declaredChange(change));
  }

  /** The change under the other settings. */
  #declaredChange(change: JournalledChange): DeclaredChange {
    const monitorId = this.#parts.present.id;
    switch (change.kind) {
      case 'monitor':
        return { kind: 'monitor', monitorId, monitor: this.#altered(change.monitor), removed: null };
      case 'linked':
        return { ...change, kind: 'linked', monitorId };
      case 'channel':
        return { ...change, kind: 'channel' };
      case 'unlinked':
        return { ...change, kind: 'unlinked', monitorId, link: null };
      case 'channel-removed':
        return { ...change, kind: 'channel-removed' };
      default:
        return change satisfies never;
    }
  }

  #learn(evaluation: Evaluation, declared: JournalledMonitor, links: readonly JournalledLink[]): void {
    this.#declare(declared);
    evaluation.declare(this.#parts.present.id, this.#monitor);
    const state = evaluation.state(this.#parts.present.id);
    state.version = declared.version;
    state.links = links.map((link) => ({ ...link, announced: 'active', incident: null }));
  }

  #declare(declared: JournalledMonitor): void {
    this.#declared = declared;
    this.#monitor = this.#altered(declared);
  }

  #altered(declared: JournalledMonitor): LiveMonitor {
    const { present, effort, settings } = this.#parts;
    return altered(present, effort, declared, settings);
  }

  #begin(): Evaluation {
    const monitor = this.#monitor ?? undefined;
    return new Evaluation({
      states: this.#states,
      monitors: { get: () => monitor },
      windows: this.#windows,
      instants: this.#instants(),
      electable: this.#around.electable,
      rolledUpUntil: 0,
      isHeld: () => this.#isHeld,
      isTimeUp: () => this.#isTimeUp,
      isResumed: () => this.#isTimeUp,
      newKey: () => `replayed-${++this.#keys}`,
      newIncidentKey: () => `replayed-${++this.#keys}`,
      closesIncidents: this.#parts.closesIncidents,
    });
  }

  /** Ends the evaluation of the present instant, if there is one. */
  #commit(): void {
    const evaluation = this.#evaluation;
    if (evaluation === null) return;
    this.#evaluation = null;
    evaluation.finish();
    this.#windows = evaluation.windows;
    this.#stored.write(evaluation.writes);
    evaluation.drafts.forEach((state, id) => {
      if (state === null) this.#states.delete(id);
      else this.#states.set(state);
    });
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
