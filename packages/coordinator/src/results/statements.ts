import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { hourOf } from '../domain/summary-range.ts';
import type { TransitionReason } from '../domain/transition.ts';
import { abstentionDetail, resultDetail } from '../store/result-detail.ts';
import type { MonitorState } from './states.ts';
import { votesText } from './stored-votes.ts';

/** Where the reading of the result stream stands. */
export type StreamPosition = {
  /** The stream's creation time as the server writes it: another one is another stream. */
  created: string;
  sequence: number;
  messageId: string;
  /** Epoch ms. */
  time: number;
};

export type LinkRow = {
  notificationId: number;
  providerType: string;
  announced: 'active' | 'degraded' | 'error';
  incident: string | null;
};

export type TransitionRow = {
  monitorId: number;
  from: string;
  to: string;
  reason: TransitionReason;
  at: number;
  slot: number | null;
  votes: string;
  incident: string | null;
};

const PREPARED = new WeakMap<DatabaseSync, RecordingStatements>();

/** Everything the evaluation writes, as prepared statements on the writing connection. */
export class RecordingStatements {
  readonly #insertResult: StatementSync;
  readonly #rememberSlot: StatementSync;
  readonly #markForRepair: StatementSync;
  readonly #updateState: StatementSync;
  readonly #insertState: StatementSync;
  readonly #insertTransition: StatementSync;
  readonly #openIncident: StatementSync;
  readonly #closeIncident: StatementSync;
  readonly #position: StatementSync;
  readonly #links: StatementSync;
  readonly #announce: StatementSync;
  readonly #insertLink: StatementSync;
  readonly #deleteLink: StatementSync;
  readonly #deleteChannelLinks: StatementSync;
  readonly #deleteQueue: StatementSync;

  constructor(sqlite: DatabaseSync) {
    // The first that is not `not_run` stays, and it replaces a recorded `not_run`.
    this.#insertResult = sqlite.prepare(`
      INSERT INTO results (slot, monitor_id, region, outcome, version, latency, status_code, error_message,
        detail, agent, recorded_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (slot, monitor_id, region) DO UPDATE SET outcome = excluded.outcome,
        version = excluded.version, latency = excluded.latency, status_code = excluded.status_code,
        error_message = excluded.error_message, detail = excluded.detail, agent = excluded.agent,
        recorded_at = excluded.recorded_at
      WHERE results.outcome = 'not_run' AND excluded.outcome <> 'not_run'`);
    this.#rememberSlot = sqlite.prepare(
      'INSERT OR IGNORE INTO off_grid_slots (monitor_id, slot) VALUES (?, ?)',
    );
    this.#markForRepair = sqlite.prepare(`
      INSERT INTO rollup_repairs (hour, monitor_id) VALUES (?, ?)
      ON CONFLICT (hour, monitor_id) DO UPDATE SET marks = marks + 1`);
    this.#updateState = sqlite.prepare(`
      UPDATE monitor_states SET status = ?, since = ?, decided_slot = ?, votes = ?, incident = ?
      WHERE monitor_id = ?`);
    this.#insertState = sqlite.prepare(`
      INSERT INTO monitor_states (status, since, decided_slot, votes, incident, monitor_id)
      VALUES (?, ?, ?, ?, ?, ?)`);
    this.#insertTransition = sqlite.prepare(`
      INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, slot, votes, incident)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#openIncident = sqlite.prepare(
      'INSERT INTO incidents (key, monitor_id, opened_at) VALUES (?, ?, ?)',
    );
    this.#closeIncident = sqlite.prepare('UPDATE incidents SET closed_at = ?, closure = ? WHERE key = ?');
    this.#position = sqlite.prepare(`
      INSERT INTO stream_position (id, stream_created, sequence, message_id, message_time)
      VALUES (1, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET stream_created = excluded.stream_created,
        sequence = excluded.sequence, message_id = excluded.message_id, message_time = excluded.message_time`);
    this.#links = sqlite.prepare(`
      SELECT links.notification_id AS notificationId, notifications.provider_type AS providerType,
        links.announced AS announced, links.incident AS incident
      FROM links JOIN notifications ON notifications.id = links.notification_id
      WHERE links.monitor_id = ? ORDER BY links.notification_id`);
    this.#announce = sqlite.prepare(
      'UPDATE links SET announced = ?, incident = ? WHERE monitor_id = ? AND notification_id = ?',
    );
    this.#insertLink = sqlite.prepare(
      'INSERT INTO links (monitor_id, notification_id) VALUES (?, ?) ON CONFLICT DO NOTHING',
    );
    this.#deleteLink = sqlite.prepare('DELETE FROM links WHERE monitor_id = ? AND notification_id = ?');
    this.#deleteChannelLinks = sqlite.prepare('DELETE FROM links WHERE notification_id = ?');
    this.#deleteQueue = sqlite.prepare(
      "DELETE FROM deliveries WHERE notification_id = ? AND state = 'pending'",
    );
  }

  /** Prepared once per connection. */
  static of(sqlite: DatabaseSync): RecordingStatements {
    let statements = PREPARED.get(sqlite);
    if (statements === undefined) {
      statements = new RecordingStatements(sqlite);
      PREPARED.set(sqlite, statements);
    }
    return statements;
  }

  /** False when the region's result of this slot was there already. `recordedAt`: epoch ms. */
  insertResult(result: CheckResult, region: Region, agent: string, recordedAt: number): boolean {
    const { changes } = this.#insertResult.run(
      result.slot,
      result.monitor,
      region,
      result.outcome,
      result.version,
      result.latency ?? null,
      result.status_code ?? null,
      result.error_message ?? null,
      resultDetail(result),
      agent,
      recordedAt,
    );
    return changes !== 0;
  }

  insertAbstention(
    job: { monitorId: number; version: number; slot: number; region: Region; reason: NotRunReason },
    recordedAt: number,
  ): boolean {
    const { monitorId, slot, region, version } = job;
    const { changes } = this.#insertResult.run(
      slot,
      monitorId,
      region,
      'not_run',
      version,
      null,
      null,
      null,
      abstentionDetail(job.reason),
      null,
      recordedAt,
    );
    return changes !== 0;
  }

  /** To be called for every slot that is not on the grid of the monitor's period: it is not found again otherwise. */
  rememberSlot(monitorId: number, slot: number): void {
    this.#rememberSlot.run(monitorId, slot);
  }

  /** To be called for every result of an hour that is rolled up, or about to be. */
  markForRepair(monitorId: number, slot: number): void {
    this.#markForRepair.run(hourOf(slot), monitorId);
  }

  writeState(state: MonitorState): void {
    const votes = votesText(state.votes);
    const { status, since, decidedSlot, incident, id } = state;
    const { changes } = this.#updateState.run(status, since, decidedSlot, votes, incident, id);
    if (changes === 0) this.#insertState.run(status, since, decidedSlot, votes, incident, id);
  }

  insertTransition(row: TransitionRow): void {
    const { monitorId, from, to, reason, at, slot, votes, incident } = row;
    this.#insertTransition.run(monitorId, from, to, reason, at, slot, votes, incident);
  }

  openIncident(key: string, monitorId: number, at: number): void {
    this.#openIncident.run(key, monitorId, at);
  }

  closeIncident(key: string, at: number, closure: string | null): void {
    this.#closeIncident.run(at, closure, key);
  }

  writePosition(position: StreamPosition): void {
    this.#position.run(position.created, position.sequence, position.messageId, position.time);
  }

  links(monitorId: number): LinkRow[] {
    return this.#links.all(monitorId) as LinkRow[];
  }

  announce(
    monitorId: number,
    notificationId: number,
    announced: LinkRow['announced'],
    incident: string | null,
  ): void {
    this.#announce.run(announced, incident, monitorId, notificationId);
  }

  /** False when they were linked already. */
  insertLink(monitorId: number, notificationId: number): boolean {
    return this.#insertLink.run(monitorId, notificationId).changes !== 0;
  }

  deleteLink(monitorId: number, notificationId: number): void {
    this.#deleteLink.run(monitorId, notificationId);
  }

  /** Its links end and what is queued for it is dropped. */
  deleteChannel(notificationId: number): void {
    this.#deleteChannelLinks.run(notificationId);
    this.#deleteQueue.run(notificationId);
  }
}
