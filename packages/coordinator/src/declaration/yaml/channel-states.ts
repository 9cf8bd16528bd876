import { CHANNEL_KINDS, type ChannelKind } from '@svc/shared/channels/settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { z } from 'zod';
import { channelsOfFile, openSettings } from '../../store/declaration/channels.ts';
import type { Secrets } from '../../store/declaration/secrets.ts';
import type { Readable } from '../../store/queries.ts';
import type { ConfigurationChange } from '../configuration.ts';

export type ChannelStates = {
  /** Returns why a channel of this kind with these settings cannot deliver; null: it can deliver. */
  readonly channelProblem: (kind: ChannelKind, settings: object) => { readonly message: string } | null;
  /** Whether failing channels that can deliver now become `ok`. Set for the first apply of a leader. */
  readonly resetsChannels: boolean;
};

export type DeclaredChannel = {
  readonly id: number;
  readonly kind: ChannelKind;
  /** The settings of the channel, in clear text. */
  readonly settings: Secret<object>;
  /** The stored reason why the channel fails, such as a missing setting or a refused alert; null: it works. */
  readonly reason: string | null;
  /** Whether this change has written the channel. */
  readonly isWritten: boolean;
};

/**
 * Sets the state of every channel that this change has written. Sets the state of any other channel
 * if it cannot deliver for a new reason, or if it can deliver again and `resetsChannels` is set.
 */
export async function setChannelStates(
  change: ConfigurationChange,
  channels: readonly DeclaredChannel[],
  { channelProblem, resetsChannels }: ChannelStates,
): Promise<void> {
  for (const { id, kind, settings, reason, isWritten } of channels) {
    const problem = channelProblem(kind, settings.reveal())?.message ?? null;
    const isSettled = reason === problem || (problem === null && !resetsChannels);
    if (isSettled && !isWritten) continue;
    await change.setChannelState(id, problem === null ? 'ok' : 'failing', problem);
  }
}

/**
 * Reads the stored channels of the declared file. A channel of an unknown kind, or with
 * unreadable settings, is left out. The next delivery to it fails and reports why.
 *
 * @throws StoreError `store-key` when settings cannot be decrypted
 */
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
