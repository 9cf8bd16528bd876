import { CHANNEL_BLOCKS, type ChannelKind } from '@svc/shared/channels/settings.ts';
import { notification } from '@svc/shared/resources/notification.ts';
import type { AnswerOf } from '../../api/endpoint.ts';
import type { CHANNEL } from '../../api/routes/notifications.ts';
import { stateLabel } from '../../web/design/states.ts';
import type { Html } from '../../web/html.ts';
import { formOf } from '../forms/fields.ts';
import { firstPhrase } from '../forms/labels.ts';

/** A channel as the API answers it. */
export type ChannelView = AnswerOf<typeof CHANNEL.read>;

/** Whether a channel delivers, by shape, word and colour. */
export function channelState({ state, stopped_at: stoppedAt }: ChannelView): Html {
  if (stoppedAt !== null) return stateLabel('down', 'Stopped');
  return state === 'ok' ? stateLabel('operational', 'Delivers') : stateLabel('degraded', 'Failing');
}

/** What a channel is called where it has no name. */
export function channelName({ id, name }: Pick<ChannelView, 'id' | 'name'>): string {
  return name === null || name === '' ? `Channel ${id}` : name;
}

export const CHANNEL_FORM = formOf(notification);

/** What people call a kind: `Custom HTTP endpoint`. */
export function nameOfKind(kind: ChannelKind): string {
  return firstPhrase(CHANNEL_BLOCKS[kind].description);
}
