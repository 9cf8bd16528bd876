import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { sql } from 'kysely';
import type { StoredState } from '../../verdict/restart.ts';
import { hourOf } from '../../verdict/summary-range.ts';
import type { Abstention, MonitorSlot, ReportedResult, Writes } from '../../verdict/writes.ts';
import { deliveryIds, hastenOlder, insertDeliveries, rowOf } from '../alerts/delivery-queue.ts';
import { removeChanges } from '../declaration/changes.ts';
import type { Secrets } from '../declaration/secrets.ts';
import { pairsAs } from '../dialect.ts';
import { StoreError } from '../errors.ts';
import { type ExportNote, insertNote } from '../export-totals.ts';
import {
  removeVotes,
  storedStates,
  writeAnnouncements,
  writeStates,
  writeVotes,
} from '../states/monitor-states.ts';
import {
  closeIncidents,
  insertIntervals,
  insertTransitions,
  lengthenIntervals,
  openIncidents,
  redateTransitions,
} from '../states/transitions.ts';
import type { SqlStep, Store } from '../store.ts';
import { abstentionDetail, resultDetail } from './result-detail.ts';

/** One batch of the recorder. */
export type RecordedBatch = {
  readonly writes: Writes;
  /**
   * How far streams were read for this batch: at most one position for each stream. The other streams stay at
   * their stored positions.
   */
  readonly positions: readonly StreamPosition[];
  /** The batch applies the logged changes of the declaration up to this id; null: none. */
  readonly changesUntil: number | null;
  /** The note of the batch for the export; null: nothing of the batch is exported. */
  readonly exportNote: ExportNote | null;
};

/** The database as the recorder uses it. */
export interface RecordingStore {
  /** The recorded outcomes of these keys, in their order; null: nothing is recorded. */
  recordedOutcomes(keys: readonly ResultKey[]): Promise<readonly (Outcome | null)[]>;
  /**
   * Writes the batch in one transaction. Resolves when it is durable.
   *
   * @returns the ids of `writes.deliveries`, in their order; null: the channel is gone
   * @throws StoreError when nothing of the batch was written
   */
  record(batch: RecordedBatch): Promise<readonly (number | null)[]>;
  /** Yields the states of all monitors, in chunks. `now` is on the slots' clock, epoch ms. */
  states(now: number): AsyncIterable<readonly StoredState[]>;
  positions(): Promise<readonly StreamPosition[]>;
}

/** {@link RecordingStore} over the database. */
export function createRecordingStore(store: Store, secrets: Secrets): RecordingStore {
  return {
    recordedOutcomes: (keys) => recordedOutcomes(store, keys),
    positions: () => readPositions(store),

    states: (now) => storedStates(store, now),

    async record(batch) {
      const deliveries = batch.writes.deliveries.map((delivery) => rowOf(secrets, delivery));
      try {
        const outcomes = await store.commit([
          insertDeliveries(deliveries),
          ...[hastenOlder(deliveries), ...stepsOf(batch)].filter(({ rows }) => rows.length > 0),
        ]);
        return Array.from(outcomes[0] ?? [], ({ changes, id }) => (changes === 0 ? null : id));
      } catch (error) {
        // The batch was written. A second try would find its results already recorded, and so cast no votes,
        // and would send its alerts twice.
        if (!(error instanceof StoreError) || error.code !== 'store-unanswered') throw error;
        return deliveryIds(
          store,
          deliveries.map(({ uid }) => uid),
        );
      }
    },
  };
}

function stepsOf({ writes, positions, changesUntil, exportNote }: RecordedBatch): SqlStep[] {
  const steps = [
    insertResults(writes.results, writes.recordedAt),
    insertAbstentions(writes.abstentions, writes.recordedAt),
    rememberSlots(writes.offGridSlots),
    markForRepair(writes.repairs),
    openIncidents(writes.openedIncidents),
    closeIncidents(writes.closedIncidents),
    redateTransitions(writes.transitions),
    insertTransitions(writes.transitions),
    insertIntervals(writes.intervals),
    lengthenIntervals(writes.longerIntervals),
    writeStates(writes.states),
    writeVotes(writes.votes),
    removeVotes(writes.removed),
    writeAnnouncements(writes.announcements),
    writePositions(positions),
  ];
  if (changesUntil !== null) steps.push(removeChanges(changesUntil));
  if (exportNote !== null) steps.push(insertNote(exportNote));
  return steps;
}

/** A position in the reading of a stream of results. */
export type StreamPosition = {
  readonly stream: string;
  /**
   * The stream's creation time as the server writes it. A stream that was deleted and made anew has another
   * one.
   */
  readonly created: string;
  readonly sequence: number;
  readonly messageId: string;
  /** Epoch ms. */
  readonly time: number;
};

/** The position of each stream that was ever read. */
async function readPositions(store: Store): Promise<StreamPosition[]> {
  const rows = await store.read.selectFrom('stream_positions').selectAll().execute();
  return rows.map(
    ({ stream, stream_created: created, sequence, message_id: messageId, message_time: time }) => {
      return { stream, created, sequence, messageId, time };
    },
  );
}

function writePositions(positions: readonly StreamPosition[]): SqlStep {
  return {
    sql: `INSERT INTO stream_positions (stream, stream_created, sequence, message_id, message_time)
      VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (stream) DO UPDATE SET stream_created = excluded.stream_created,
        sequence = excluded.sequence, message_id = excluded.message_id, message_time = excluded.message_time`,
    rows: positions.map(({ stream, created, sequence, messageId, time }) => [
      stream,
      created,
      sequence,
      messageId,
      time,
    ]),
  };
}

export type ResultKey = { readonly monitorId: number; readonly slot: number; readonly region: Region };

/**
 * The recorded outcomes of these keys, in their order; null: nothing is recorded. Everything committed before
 * the call is seen. A batch waits for the answer, so the query runs on the connection for `work`.
 */
async function recordedOutcomes(store: Store, keys: readonly ResultKey[]): Promise<(Outcome | null)[]> {
  const slots = keys.map(({ slot, monitorId }) => [slot, monitorId] as const);
  const { rows } = await sql<{ slot: number; monitor_id: number; region: string; outcome: Outcome }>`
    SELECT results.slot, results.monitor_id, results.region, results.outcome
    FROM ${pairsAs(slots, 'asked')} CROSS JOIN results
    WHERE results.slot = asked.first AND results.monitor_id = asked.second`.execute(store.work);
  const known = new Map(
    rows.map((row) => [`${row.monitor_id} ${row.slot} ${row.region}`, row.outcome] as const),
  );
  return keys.map(({ monitorId, slot, region }) => known.get(`${monitorId} ${slot} ${region}`) ?? null);
}

/** The first result that is not `not_run` stays for good. It replaces a recorded `not_run`. */
const INSERT_RESULT = `
  INSERT INTO results (slot, monitor_id, region, outcome, version, latency, status_code, error_message,
    detail, agent, recorded_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (slot, monitor_id, region) DO UPDATE SET outcome = excluded.outcome,
    version = excluded.version, latency = excluded.latency, status_code = excluded.status_code,
    error_message = excluded.error_message, detail = excluded.detail, agent = excluded.agent,
    recorded_at = excluded.recorded_at
  WHERE results.outcome = 'not_run' AND excluded.outcome <> 'not_run'`;

/** @param recordedAt epoch ms */
function insertResults(results: readonly ReportedResult[], recordedAt: number): SqlStep {
  return {
    sql: INSERT_RESULT,
    rows: results.map(({ result, region, agent }) => [
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
    ]),
  };
}

/** As {@link insertResults}, for regions that did not run the check. */
function insertAbstentions(abstentions: readonly Abstention[], recordedAt: number): SqlStep {
  return {
    sql: INSERT_RESULT,
    rows: abstentions.map(({ monitorId, version, slot, region, reason }) => [
      slot,
      monitorId,
      region,
      'not_run',
      version,
      null,
      null,
      null,
      abstentionDetail(reason),
      null,
      recordedAt,
    ]),
  };
}

/** Stores slots that are not on the grid of the monitor's period. No computation would find them again. */
function rememberSlots(slots: readonly MonitorSlot[]): SqlStep {
  return {
    sql: 'INSERT INTO off_grid_slots (monitor_id, slot) VALUES (?, ?) ON CONFLICT DO NOTHING',
    rows: slots.map(({ monitorId, slot }) => [monitorId, slot]),
  };
}

/** Marks hours that must be rolled up again: a result came after the roll-up, or shortly before it. */
export function markForRepair(slots: readonly MonitorSlot[]): SqlStep {
  return {
    sql: `INSERT INTO rollup_repairs (hour, monitor_id) VALUES (?, ?)
      ON CONFLICT (hour, monitor_id) DO UPDATE SET marks = rollup_repairs.marks + 1`,
    rows: slots.map(({ monitorId, slot }) => [hourOf(slot), monitorId]),
  };
}
