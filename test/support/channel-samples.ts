import { CHANNEL_KINDS, type ChannelKind, type ChannelSettings } from '@svc/shared/channels/settings.ts';

const header = (key: string, value: string) => ({ key, value });

/**
 * The settings of each kind in the format of declarations, in their order: `name!` is required, `name?`
 * optional, `*` sensitive, `+` secret without being sensitive.
 */
export const EXPECTED_SETTINGS: { readonly [K in ChannelKind]: string } = {
  email: 'email!',
  webhook: 'endpoint!+ headers?',
  sms: 'phone_number!',
  messenger_b: 'phone_number!',
  messenger_a: 'chat_id!',
  chat_a: 'webhook_url!*',
  chat_b: 'webhook_url!*',
  chat_c: 'webhook_url!*',
  incident_a: 'integration_key!*',
  incident_b: 'api_key!* region!',
  incident_c: 'webhook_url!*',
  push_a: 'topic! server_url? token?*',
};

/** Two or more valid values of each setting. Every secret value contains {@link SECRET}. */
type Samples<K extends ChannelKind> = {
  readonly [A in keyof ChannelSettings[K]]: readonly [
    NonNullable<ChannelSettings[K][A]>,
    NonNullable<ChannelSettings[K][A]>,
    ...NonNullable<ChannelSettings[K][A]>[],
  ];
};

/** A part of every secret in a sample. It must not appear where secrets are hidden. */
export const SECRET = 's3cret';

const PHONE = { phone_number: ['+4915112345678', '+14155550100'] } as const;
const HOOK = {
  webhook_url: [`https://chat.example.com/${SECRET}-a?key=${SECRET}`, `https://chat.example.com/${SECRET}-b`],
} as const;

/**
 * Every kind of channel, with values for all of its settings. The tests of the API, of Terraform and of the
 * command line use them: a kind without a line fails the type check.
 */
export const CHANNEL_SAMPLES: { readonly [K in ChannelKind]: Samples<K> } = {
  email: { email: ['a@example.com', 'b@example.org'] },
  webhook: {
    endpoint: [
      `https://hook.example.com/${SECRET}-a`,
      'https://hook.example.com/b',
      `https://u:${SECRET}@hook.example.com/b`,
    ],
    headers: [[header('X-A', `${SECRET}-a`)], [header('X-B', 'b'), header('X-A', '')], []],
  },
  sms: PHONE,
  messenger_b: PHONE,
  messenger_a: { chat_id: ['-1001234567890', '@svc_alerts'] },
  chat_a: HOOK,
  chat_b: HOOK,
  chat_c: HOOK,
  incident_a: { integration_key: [`${SECRET}-key-a`, `${SECRET}-key-b`] },
  incident_b: { api_key: [`${SECRET}-key-a`, `${SECRET}-key-b`], region: ['us', 'eu'] },
  incident_c: HOOK,
  push_a: {
    topic: ['alerts', 'other-alerts'],
    server_url: ['https://push.example.com', 'http://push.example.org:8'],
    token: [`${SECRET}-token-a`, `${SECRET}-token-b`],
  },
};

/** A body of a channel without its monitors, as users write it. */
export type SampleBody = { readonly provider_type: ChannelKind } & Readonly<Record<string, unknown>>;

/** The sample of each kind at `index`: 0 or 1. */
export function channelBodies(index: 0 | 1 = 0): SampleBody[] {
  return CHANNEL_KINDS.map((kind) => ({ provider_type: kind, [kind]: channelSettings(kind, index) }));
}

/** The settings of a kind, each with its value at `index`. */
export function channelSettings(kind: ChannelKind, index: 0 | 1): Readonly<Record<string, unknown>> {
  const samples: Readonly<Record<string, readonly unknown[]>> = CHANNEL_SAMPLES[kind];
  return Object.fromEntries(Object.entries(samples).map(([name, values]) => [name, values[index]]));
}
