import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { z } from 'zod';
import { type AppliedDeclaration, ownedRows } from '../store/applied-declaration.ts';
import { channelsOfFile, openSettings } from '../store/channels.ts';
import type { Readable } from '../store/reading-of.ts';
import type { Secrets } from '../store/secrets.ts';
import type { DeclaredChannel } from './channel-states.ts';

/** Whether the rows of the declared file are as its last apply left them. */
export async function areRowsUnchanged(
  source: Readable,
  workspaceId: number,
  applied: AppliedDeclaration,
): Promise<boolean> {
  return (await ownedRows(source, workspaceId)) === applied.rows;
}

/** The stored channels of the declared file. Those that cannot be read are left out: sending tells why. */
export async function storedChannels(
  source: Readable,
  secrets: Secrets,
  workspaceId: number,
): Promise<DeclaredChannel[]> {
  const channels = await channelsOfFile(source, workspaceId);
  return channels.flatMap(({ id, kind: stored, settingsSealed, reason }) => {
    const kind = CHANNEL_KINDS.find((known) => known === stored);
    const settings = z.object({}).loose().safeParse(openSettings(secrets, settingsSealed).reveal()).data;
    if (kind === undefined || settings === undefined) return [];
    return [{ id, kind, settings: new Secret<object>(settings), reason, isWritten: false }];
  });
}
