import { randomUUID } from 'node:crypto';
import type { Closure } from '@svc/shared/channels/alert.ts';
import type { LiveMonitor, MonitorStatus } from '../domain/monitor.ts';
import type { RegionSet } from '../domain/region-set.ts';
import { isCounted, type Vote } from '../domain/status.ts';
import { announcement, incidentChange, isKept, type TransitionReason } from '../domain/transition.ts';
import type { Outbox } from '../notify/enqueue.ts';
import type { Transaction } from '../store/store.ts';
import { alertOf } from './alert.ts';
import type { StatusChange } from './evaluator.ts';
import type { LinkRow, RecordingStatements } from './statements.ts';
import type { MonitorState } from './states.ts';
import { toTransitionVotes } from './stored-votes.ts';

/** Kinds that keep incidents open until told: only they hear that one ended without a recovery. */
const INCIDENT_KINDS: ReadonlySet<string> = new Set(['incident_a', 'incident_b', 'incident_c']);

export type NewStatus = {
  status: MonitorStatus;
  reason: TransitionReason;
  /** Epoch ms; never before the status it ends. */
  at: number;
  slot: number | null;
  electorate: RegionSet;
  /** As the votes' `expiresAt`, for what counts. */
  now: number;
};

/** What a change of status brings with it, in the same transaction: history, incident, alerts. */
export class StatusChanges {
  /** Changes of status in this transaction, in order. */
  readonly made: StatusChange[] = [];
  readonly #tx: Transaction;
  readonly #rows: RecordingStatements;
  readonly #outbox: Outbox;

  constructor(tx: Transaction, rows: RecordingStatements, outbox: Outbox) {
    this.#tx = tx;
    this.#rows = rows;
    this.#outbox = outbox;
  }

  /** Gives `state` its new status and reason. Writes nothing when both are what they were. */
  change(state: MonitorState, monitor: LiveMonitor, next: NewStatus): void {
    const { status, reason, slot } = next;
    if (!isKept(state, next)) return;
    const from = state.status;
    const at = Math.max(next.at, state.since);
    const votes = toTransitionVotes(state.votes, next.electorate, next.now);
    const incident = from === status ? state.incident : this.#changeIncident(state, status, at);
    state.status = status;
    state.reason = reason;
    this.#rows.insertTransition({
      monitorId: monitor.id,
      from,
      to: status,
      reason,
      at,
      slot,
      votes: JSON.stringify(votes),
      incident,
    });
    if (from === status) return;
    state.since = at;
    this.made.push({ monitor, from, to: status, reason, at, slot, votes });
    const counted = state.votes.filter((vote) => isCounted(vote, next.electorate, next.now));
    this.#announceToAll(state, monitor, counted, incident);
  }

  /** A channel was linked: it is told what the others were. */
  welcome(state: MonitorState, monitor: LiveMonitor, notificationId: number, counted: readonly Vote[]): void {
    const status = announcement('active', state.status);
    if (status === null || state.incident === null || state.status === 'unknown') return;
    const { since: at, reason, incident } = state;
    const alert = alertOf({ monitor, status, votes: counted, at, reason, incident });
    this.#outbox.enqueue(this.#tx, { notificationId, monitorId: monitor.id, alert });
    this.#rows.announce(monitor.id, notificationId, state.status, incident);
  }

  /** The incident ends without a recovery: incident kinds are told, and all channels start from `active` again. */
  closeIncident(
    state: MonitorState,
    monitor: LiveMonitor,
    counted: readonly Vote[],
    at: number,
    closure: Closure,
  ): void {
    for (const link of this.#rows.links(monitor.id)) {
      if (link.announced === 'active') continue;
      this.close(link, monitor, counted, at, closure);
      this.#rows.announce(monitor.id, link.notificationId, 'active', null);
    }
    if (state.incident === null) return;
    this.#rows.closeIncident(state.incident, at, closure);
    state.incident = null;
  }

  /** Tells the link's channel, when it is of an incident kind, that its incident is over and why. */
  close(link: LinkRow, monitor: LiveMonitor, counted: readonly Vote[], at: number, closure: Closure): void {
    if (link.announced === 'active' || link.incident === null) return;
    if (!INCIDENT_KINDS.has(link.providerType)) return;
    const alert = alertOf({
      monitor,
      status: 'recovered',
      votes: counted,
      at,
      reason: closure,
      incident: link.incident,
      closure,
    });
    this.#outbox.enqueue(this.#tx, { notificationId: link.notificationId, monitorId: monitor.id, alert });
  }

  /** @returns the key of the incident that the change belongs to; null: none */
  #changeIncident(state: MonitorState, status: MonitorStatus, at: number): string | null {
    const current = state.incident;
    switch (incidentChange(current !== null, status)) {
      case 'keep':
        return current;
      case 'open': {
        const key = randomUUID();
        state.incident = key;
        this.#rows.openIncident(key, state.id, at);
        return key;
      }
      case 'close':
        if (current !== null) this.#rows.closeIncident(current, at, null);
        state.incident = null;
        return current;
    }
  }

  #announceToAll(
    state: MonitorState,
    monitor: LiveMonitor,
    counted: readonly Vote[],
    incident: string | null,
  ): void {
    const { status, reason, since: at } = state;
    if (status === 'unknown') return;
    for (const link of this.#rows.links(monitor.id)) {
      const told = announcement(link.announced, status);
      const key = incident ?? link.incident;
      if (told === null || key === null) continue;
      const alert = alertOf({ monitor, status: told, votes: counted, at, reason, incident: key });
      this.#outbox.enqueue(this.#tx, { notificationId: link.notificationId, monitorId: monitor.id, alert });
      this.#rows.announce(monitor.id, link.notificationId, status, status === 'active' ? null : key);
    }
  }
}
