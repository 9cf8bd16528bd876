import type { AnswerOf } from '../../api/endpoint.ts';
import type { CHANNEL } from '../../api/routes/notifications.ts';
import { stateLabel } from '../../web/design/states.ts';
import type { Html } from '../../web/html.ts';

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
