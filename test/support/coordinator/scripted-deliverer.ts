import type { SendContext, SendResult } from '@svc/coordinator/alerts/channel.ts';
import { Deliverer, type DelivererParts } from '@svc/coordinator/alerts/deliverer.ts';
import { storedChannels } from '@svc/coordinator/alerts/stored-channels.ts';
import type { AttributesOf } from '@svc/coordinator/declaration/kinds/kind-tables.ts';
import type { Alert, AlertStatus } from '@svc/shared/channels/alert.ts';
import { type ConfiguredStore, silentLog } from '../configured-store.ts';
import { TEST_IDS } from '../test-ids.ts';

/** One attempt, as a receiver sees it. */
export type Sent = { readonly kind: string; readonly alert: Alert; readonly context: SendContext };

/**
 * Makes a deliverer over the stored channels, with the clock of the store. The receivers answer by `answer`.
 */
export function scriptedDeliverer(
  { store, secrets, clock }: ConfiguredStore,
  answer: (sent: Sent) => SendResult | Promise<SendResult>,
  others: Partial<DelivererParts> = {},
): Deliverer {
  return new Deliverer({
    store,
    secrets,
    ids: TEST_IDS,
    clock,
    log: silentLog,
    send: async ({ kind }, alert, context) => answer({ kind, alert, context }),
    source: storedChannels(store, secrets),
    publicUrl: 'http://svc.example',
    random: () => 0,
    ...others,
  });
}

/** Settings of channels whose receivers exist only in scripts. */
const SETTINGS = {
  webhook: { endpoint: 'http://receiver.example/', headers: null },
  email: { email: 'ops@example.com' },
  sms: { phone_number: '+4915112345678' },
  messenger_a: { chat_id: '1234' },
  chat_a: { webhook_url: 'https://discord.com/api/webhooks/1/a' },
  incident_a: { integration_key: 'k'.repeat(32) },
} as const;

export type ScriptedKind = keyof typeof SETTINGS;
type ScriptedAttributes = { readonly name?: string; readonly group_alerts?: boolean };

/** Attributes of a channel without monitors. */
export function scriptedChannel(
  kind: ScriptedKind,
  more: ScriptedAttributes = {},
): AttributesOf<'svc_notification'> {
  const attributes = { name: null, provider_type: kind, monitor_ids: [], settings: SETTINGS[kind], ...more };
  return attributes as never;
}

/** Creates a scripted channel and returns its id. */
export function createScriptedChannel(
  { configuration, workspaceId }: ConfiguredStore,
  kind: ScriptedKind,
  more: ScriptedAttributes = {},
): Promise<number> {
  return configuration.transaction({ workspaceId, actor: 'api' }, (change) =>
    change.create('svc_notification', scriptedChannel(kind, more)),
  );
}

/** Makes an alert about a monitor, which need not exist. Each monitor has one incident. */
export function alertAbout(monitorId: number, status: AlertStatus, more: Partial<Alert> = {}): Alert {
  return {
    monitor: {
      id: monitorId,
      name: `Shop ${monitorId}`,
      url: `http://shop.example/${monitorId}`,
      type: 'http',
    },
    status,
    cronTimestamp: 1,
    at: 1,
    reason: 'test',
    incident: `incident of ${monitorId}`,
    regions: [],
    ...more,
  };
}
