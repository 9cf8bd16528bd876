import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import type { ConfigurationChange } from '../configuration/configuration.ts';

export type ChannelStates = {
  /** Why nothing can be delivered through channels of this kind, or null. */
  readonly channelProblem: (kind: ChannelKind) => { readonly message: string } | null;
  /** Whether channels that fail get another chance though nothing of them changed (the process has just started). */
  readonly resetsChannels: boolean;
};

export type DeclaredChannel = {
  readonly id: number;
  readonly kind: ChannelKind;
  /** Why nothing can be delivered through it, as it is stored. */
  readonly reason: string | null;
  /** Whether this change has written it. */
  readonly isWritten: boolean;
};

/** Channels that were written get their state anew; others when their kind cannot be delivered to, or may be tried again. */
export async function setChannelStates(
  change: ConfigurationChange,
  channels: readonly DeclaredChannel[],
  { channelProblem, resetsChannels }: ChannelStates,
): Promise<void> {
  for (const { id, kind, reason, isWritten } of channels) {
    const problem = channelProblem(kind)?.message ?? null;
    const isSettled = reason === problem || (problem === null && !resetsChannels);
    if (isSettled && !isWritten) continue;
    await change.setChannelState(id, problem === null ? 'ok' : 'failing', problem);
  }
}
