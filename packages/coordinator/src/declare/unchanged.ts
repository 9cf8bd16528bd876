import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { type AppliedDeclaration, ownedRows } from '../store/applied-declaration.ts';
import { channelsOfFile } from '../store/notifications.ts';
import type { Readable } from '../store/reading-of.ts';
import type { DeclaredChannel } from './channel-states.ts';

/** Whether the rows of the declared file are as its last apply left them. */
export async function areRowsUnchanged(
  source: Readable,
  workspaceId: number,
  applied: AppliedDeclaration,
): Promise<boolean> {
  return (await ownedRows(source, workspaceId)) === applied.rows;
}

/** The stored channels of the declared file. */
export async function storedChannels(source: Readable, workspaceId: number): Promise<DeclaredChannel[]> {
  const channels = await channelsOfFile(source, workspaceId);
  return channels.flatMap(({ id, kind: stored, reason }) => {
    const kind = CHANNEL_KINDS.find((known) => known === stored);
    return kind === undefined ? [] : [{ id, kind, reason, isWritten: false }];
  });
}
