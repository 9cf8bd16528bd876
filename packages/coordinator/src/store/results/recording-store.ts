import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { sql } from 'kysely';
import type { StoredState } from '../../verdict/restart.ts';
import { ONLY_SHARD, type Shard } from '../../verdict/shard.ts';
import { hourOf } from '../../verdict/summary-range.ts';
import type { MonitorSlot, Writes } from '../../verdict/writes.ts';
import { hastenOlder, insertDeliveries, rowOf } from '../alerts/delivery-queue.ts';
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
import { abstentionOf, insertReports, reportOf } from './insert-reports.ts';
import { FIXED_NUMBERS, type RegionNumbers } from './region-numbers.ts';
import { readOutcomes } from './report-bytes.ts';

/** One batch of the recorder. */
export type RecordedBatch = {
  readonly writes: Writes;
  /**
   * How far streams were read for this batch, with at most one position for each stream. A stream without a
   * position here keeps its stored position.
   */
  readonly positions: readonly StreamPosition[];
  /**
   * The batch applies the logged changes of the declaration up to
   * this id; null: the batch applies no changes.
   */
  readonly changesUntil: number | null;
  /** The note of the batch for the export; null: nothing of the batch is exported. */
  readonly exportNote: ExportNote | null;
};

/** The operations of the database that the recorder uses. */
export interface RecordingStore {
  /** The recorded outcomes of these keys, in their order; null: nothing is recorded. */
  recordedOutcomes(keys: readonly ResultKey[]): Promise<readonly (Outcome | null)[]>;
  /**
   * Writes the batch in one transaction. Resolves when it is durable.
   *
   * @returns for each of `writes.deliveries` whether it may have been queued; false: it was not queued, because its
   *   channel was removed or a delivery with its uid exists
   * @throws StoreError when the batch is not known to be written. Nothing of it was written, except if the writing
   *   thread of SQLite died during the commit
   */
  record(batch: RecordedBatch): Promise<readonly boolean[]>;
  /** Yields the states of the shard's monitors, in chunks. `now` is on the slots' clock, epoch ms. */
  states(now: number): AsyncIterable<readonly StoredState[]>;
  positions(): Promise<readonly StreamPosition[]>;
}

/** Returns a {@link RecordingStore} of the shard that uses the database. */
export function createRecordingStore(
  store: Store,
  secrets: Secrets,
  shard: Shard = ONLY_SHARD,
  numbers: RegionNumbers = FIXED_NUMBERS,
): RecordingStore {
  return {
    recordedOutcomes: (keys) => recordedOutcomes(store, keys, numbers),
    positions: () => readPositions(store),

    states: (now) => storedStates(store, now, shard),

    async record(batch) {
      const deliveries = batch.writes.deliveries.map((delivery) => rowOf(secrets, delivery));
      try {
        const outcomes = await store.commit([
          insertDeliveries(deliveries),
          ...[hastenOlder(deliveries), ...stepsOf(batch, shard, numbers)].filter(
            ({ rows }) => rows.length > 0,
          ),
        ]);
        return Array.from(outcomes[0] ?? [], ({ changes }) => changes > 0);
      } catch (error) {
        // The batch was written although its answer was lost. A second try would find the results recorded, and
        // would make no votes from them. A later slot would then change the statuses, and send the alerts, again.
        // So nothing that could fail, such as a read, follows the commit.
        if (!(error instanceof StoreError) || error.code !== 'store-unanswered') throw error;
        return deliveries.map(() => true);
      }
    },
  };
}

function stepsOf(
  { writes, positions, changesUntil, exportNote }: RecordedBatch,
  shard: Shard,
  numbers: RegionNumbers,
): SqlStep[] {
  const steps = [
    ...insertReports(
      [...writes.results.map(reportOf), ...writes.abstentions.map(abstentionOf)],
      writes.recordedAt,
      numbers,
    ),
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
  if (changesUntil !== null) steps.push(removeChanges(changesUntil, shard));
  if (exportNote !== null) steps.push(insertNote(exportNote, shard));
  return steps;
}

/** A position in the reading of a stream of results. */
export type StreamPosition = {
  readonly stream: string;
  /**
   * The stream's creation time as the server writes it. A stream that was deleted and created again has
   * another creation time.
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
 * The recorded outcomes of these keys, in their order; null: nothing is recorded. The query
 * sees all commits before the call. It runs on a connection for `work`, because the
 * recorder waits for the answer before it writes a batch.
 */
async function recordedOutcomes(
  store: Store,
  keys: readonly ResultKey[],
  numbers: RegionNumbers,
): Promise<(Outcome | null)[]> {
  const slots = keys.map(({ slot, monitorId }) => [slot, monitorId] as const);
  const { rows } = await sql<{ slot: number; monitor_id: number; reports: Uint8Array }>`
    SELECT slot_results.slot, slot_results.monitor_id, slot_results.reports
    FROM ${pairsAs(slots, 'asked')} CROSS JOIN slot_results
    WHERE slot_results.slot = asked.first AND slot_results.monitor_id = asked.second`.execute(store.work);
  const known = new Map<string, Outcome>();
  for (const { monitor_id, slot, reports } of rows) {
    for (const [number, outcome] of readOutcomes(reports))
      known.set(`${monitor_id} ${slot} ${number}`, outcome);
  }
  return keys.map(
    ({ monitorId, slot, region }) => known.get(`${monitorId} ${slot} ${numbers.numberOf(region)}`) ?? null,
  );
}

/**
 * Stores slots that are not on the grid of the monitor's period, because readers can compute only the slots on
 * the grid.
 */
function rememberSlots(slots: readonly MonitorSlot[]): SqlStep {
  return {
    sql: 'INSERT INTO off_grid_slots (monitor_id, slot) VALUES (?, ?) ON CONFLICT DO NOTHING',
    rows: slots.map(({ monitorId, slot }) => [monitorId, slot]),
  };
}

/**
 * Marks the hours of these slots or instants, which must be rolled up again because a result
 * came after the roll-up or shortly before it, or a change of status was dated back.
 */
export function markForRepair(slots: readonly MonitorSlot[]): SqlStep {
  return {
    sql: `INSERT INTO rollup_repairs (hour, monitor_id) VALUES (?, ?)
      ON CONFLICT (hour, monitor_id) DO UPDATE SET marks = rollup_repairs.marks + 1`,
    rows: slots.map(({ monitorId, slot }) => [hourOf(slot), monitorId]),
  };
}
