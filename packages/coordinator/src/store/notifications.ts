import { type Readable, readingOf } from './reading-of.ts';
import type { Transaction } from './store.ts';

/**
 * Sets a channel's state. Answers false when the workspace has no such channel. The row version stays, and so
 * does the state of a channel that is stopped: nothing but a change of its settings or a test takes it up.
 */
export async function setChannelState(
  tx: Transaction,
  workspaceId: number,
  id: number,
  { state, reason }: { state: 'ok' | 'failing'; reason: string | null },
): Promise<boolean> {
  const rows = await tx.query<{ id: number }>(
    `UPDATE notifications SET state = CASE WHEN stopped_at IS NULL THEN ? ELSE state END,
       state_reason = CASE WHEN stopped_at IS NULL THEN ? ELSE state_reason END
     WHERE id = ? AND workspace_id = ? RETURNING id`,
    [state, reason, id, workspaceId],
  );
  return rows.length > 0;
}

/** The channels that the declared file owns, by ascending id. */
export async function channelsOfFile(
  source: Readable,
  workspaceId: number,
): Promise<{ id: number; kind: string; settingsSealed: Uint8Array; reason: string | null }[]> {
  return readingOf(source)
    .selectFrom('notifications')
    .select(['id', 'provider_type as kind', 'settings_sealed as settingsSealed', 'state_reason as reason'])
    .where('workspace_id', '=', workspaceId)
    .where('owner', '=', 'file')
    .orderBy('id')
    .execute();
}

/**
 * Gives channels a new version: the list of monitors is part of a channel's answer.
 *
 * @param now epoch ms
 */
export async function reviseChannels(tx: Transaction, ids: readonly number[], now: number): Promise<void> {
  await tx.runEach(
    'UPDATE notifications SET row_version = row_version + 1, updated_at = ? WHERE id = ?',
    ids.map((id) => [now, id]),
  );
}
