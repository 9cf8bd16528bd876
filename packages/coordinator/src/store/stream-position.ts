import type { SqlStep, Store } from './store.ts';

/** Where the reading of the result stream stands. */
export type StreamPosition = {
  /** The stream's creation time as the server writes it: another one is another stream. */
  readonly created: string;
  readonly sequence: number;
  readonly messageId: string;
  /** Epoch ms. */
  readonly time: number;
};

export async function readPosition(store: Store): Promise<StreamPosition | null> {
  const row = await store.read
    .selectFrom('stream_position')
    .select(['stream_created', 'sequence', 'message_id', 'message_time'])
    .where('id', '=', 1)
    .executeTakeFirst();
  if (row === undefined) return null;
  const { stream_created: created, sequence, message_id: messageId, message_time: time } = row;
  return { created, sequence, messageId, time };
}

export function writePosition({ created, sequence, messageId, time }: StreamPosition): SqlStep {
  return {
    sql: `INSERT INTO stream_position (id, stream_created, sequence, message_id, message_time)
      VALUES (1, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET stream_created = excluded.stream_created,
        sequence = excluded.sequence, message_id = excluded.message_id, message_time = excluded.message_time`,
    rows: [[created, sequence, messageId, time]],
  };
}
