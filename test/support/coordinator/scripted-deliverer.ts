import type { SendContext, SendResult } from '@svc/coordinator/notify/channel.ts';
import { Deliverer, type DelivererParts } from '@svc/coordinator/notify/deliverer.ts';
import { storedChannels } from '@svc/coordinator/notify/stored-channels.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';
import { type ConfiguredStore, silentLog } from '../configured-store.ts';

/** One attempt, as a receiver sees it. */
export type Sent = { readonly kind: string; readonly alert: Alert; readonly context: SendContext };

/** A deliverer over the stored channels, on the clock of the store, whose receivers answer by `answer`. */
export function scriptedDeliverer(
  { store, secrets, clock }: ConfiguredStore,
  answer: (sent: Sent) => SendResult | Promise<SendResult>,
  others: Partial<DelivererParts> = {},
): Deliverer {
  return new Deliverer({
    store,
    secrets,
    clock,
    log: silentLog,
    send: async ({ kind }, alert, context) => answer({ kind, alert, context }),
    source: storedChannels(store, secrets),
    publicUrl: 'http://svc.example',
    random: () => 0,
    ...others,
  });
}
