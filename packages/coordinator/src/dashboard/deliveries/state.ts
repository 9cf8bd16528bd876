import type { DeliveryState } from '../../store/schema.ts';
import { type State, stateLabel } from '../../web/design/states.ts';
import type { Html } from '../../web/html.ts';

/** How the states of a delivery are shown. */
const SHOWN: Readonly<Record<DeliveryState, { readonly state: State; readonly word: string }>> = {
  pending: { state: 'maintenance', word: 'Pending' },
  delivered: { state: 'operational', word: 'Delivered' },
  dead: { state: 'down', word: 'Given up' },
  superseded: { state: 'unknown', word: 'Left out' },
};

export function deliveryWord(state: DeliveryState): string {
  return SHOWN[state].word;
}

/** Shape, word and colour of a delivery's state. */
export function deliveryLabel(state: DeliveryState): Html {
  return stateLabel(SHOWN[state].state, SHOWN[state].word);
}
