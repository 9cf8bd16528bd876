import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { StoredState } from '../../verdict/restart.ts';
import type { Writes } from '../../verdict/writes.ts';
import { deliveryIds, hastenOlder, insertDeliveries, rowOf } from '../alerts/delivery-queue.ts';
import { removeChanges } from '../declaration/changes.ts';
import type { Secrets } from '../declaration/secrets.ts';
import { StoreError } from '../errors.ts';
import { type ExportNote, insertNote } from '../export-totals.ts';
import {
  closeIncidents,
  insertIntervals,
  insertTransitions,
  lengthenIntervals,
  openIncidents,
  redateTransitions,
} from '../states/history-writes.ts';
import {
  removeVotes,
  storedStates,
  writeAnnouncements,
  writeStates,
  writeVotes,
} from '../states/monitor-states.ts';
import type { SqlStep, Store } from '../store.ts';
import {
  insertAbstentions,
  insertResults,
  markForRepair,
  type ResultKey,
  recordedOutcomes,
  rememberSlots,
} from './recorded-results.ts';
import { readPositions, type StreamPosition, writePositions } from './stream-position.ts';

/** One batch of the recorder. */
export type RecordedBatch = {
  readonly writes: Writes;
  /**
   * How far streams were read for this batch, at most one position for each stream. Streams without one are
   * where they were.
   */
  readonly positions: readonly StreamPosition[];
  /** This batch applies the changes of the declaration up to this one; null: none. */
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
   * @throws StoreError when nothing of it was written
   */
  record(batch: RecordedBatch): Promise<readonly (number | null)[]>;
  /** Yields the states of all monitors, some at a time. `now`: the slots' clock, epoch ms. */
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
        // The batch was written. Recorded again, its results would be known ones without votes, and its
        // alerts would be new ones.
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
