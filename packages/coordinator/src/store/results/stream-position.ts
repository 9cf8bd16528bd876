import type { SqlStep, Store } from '../store.ts';

/** A position in the reading of a stream of results. */
export type StreamPosition = {
  readonly stream: string;
  /** The stream's creation time as the server writes it: another time means another stream. */
  readonly created: string;
  readonly sequence: number;
  readonly messageId: string;
  /** Epoch ms. */
  readonly time: number;
};

/** Answers the position of each stream that was ever read. */
export async function readPositions(store: Store): Promise<StreamPosition[]> {
  const rows = await store.read.selectFrom('stream_positions').selectAll().execute();
  return rows.map(
    ({ stream, stream_created: created, sequence, message_id: messageId, message_time: time }) => {
      return { stream, created, sequence, messageId, time };
    },
  );
}

export function writePositions(positions: readonly StreamPosition[]): SqlStep {
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
