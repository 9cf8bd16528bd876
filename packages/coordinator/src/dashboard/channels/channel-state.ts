import { stateLabel } from '../../web/design/states.ts';
import type { Html } from '../../web/html.ts';

/** A channel as the API answers it, without its settings. */
export type ChannelView = {
  readonly id: string;
  readonly name: string | null;
  readonly provider_type: string;
  readonly monitor_ids: readonly string[];
  readonly state: 'ok' | 'failing';
  readonly state_reason: string | null;
  /** RFC 3339. */
  readonly stopped_at: string | null;
};

/** Whether a channel delivers, by shape, word and colour. */
export function channelState({ state, stopped_at: stoppedAt }: ChannelView): Html {
  if (stoppedAt !== null) return stateLabel('down', 'Stopped');
  return state === 'ok' ? stateLabel('operational', 'Delivers') : stateLabel('degraded', 'Failing');
}

/** What a channel is called where it has no name. */
export function channelName({ id, name }: Pick<ChannelView, 'id' | 'name'>): string {
  return name === null || name === '' ? `Channel ${id}` : name;
}
