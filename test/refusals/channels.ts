import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { header, times, x } from '../support/resources.ts';
import {
  type Door,
  IGNORED_BY_THE_API,
  MASK_SENT,
  type Row,
  type Said,
  terraformRequires,
} from './refusal.ts';

const CHANNEL = 'svc_notification';
const KINDS = CHANNEL_KINDS.join(', ');
const ENDPOINT = 'https://example.com';
const NO_NUMBER =
  'is not a phone number in international format: + and 7 to 15 digits without spaces, like +4915112345678';
const NO_URL = 'must be a URL that starts with https:// or http://';

/** A channel with only the block of its kind. The paths of the messages begin with the name of the block. */
function wrong(
  kind: string,
  block: Readonly<Record<string, unknown>>,
  says: string,
  elsewhere: Readonly<Partial<Record<Door, Said>>> = {},
): Row {
  const members = { provider_type: kind, email: undefined, [kind]: block };
  return [CHANNEL, members, `${kind}.${says}`, elsewhere];
}

/** Terraform itself does not require a secret that may be given write-only. */
function secretRequired(kind: string, name: string): Row {
  const block = kind === 'incident_b' ? { region: 'eu' } : {};
  return wrong(kind, block, `${name}: is required`, {
    terraform: `${kind}.${name}: is required, unless its write-only form is set`,
  });
}

/** Each rule of the channels, broken. */
export const CHANNEL_ROWS: readonly Row[] = [
  [CHANNEL, { provider_type: undefined }, 'provider_type: is required', terraformRequires('provider_type')],
  [CHANNEL, { provider_type: 'pigeon' }, `provider_type: "pigeon" is not one of ${KINDS}`],
  [
    CHANNEL,
    { provider_type: 'chat_x' },
    `provider_type: "chat_x" is not one of ${KINDS}: did you mean "chat_a"?`,
  ],
  [CHANNEL, { remind_every: '2 hours' }, 'remind_every: "2 hours" is not one of 30m, 1h, 4h, 1d'],
  [CHANNEL, { email: undefined }, 'email: is required when provider_type is email'],
  [CHANNEL, { email: null }, 'email: is required when provider_type is email'],
  [
    CHANNEL,
    { sms: { phone_number: '+4915112345678' } },
    'sms: does not belong to provider_type email: remove it, or set provider_type to sms',
  ],
  [
    CHANNEL,
    { email: undefined, sms: { phone_number: '+4915112345678' } },
    [
      'email: is required when provider_type is email',
      'sms: does not belong to provider_type email: remove it, or set provider_type to sms',
    ],
  ],
  [
    CHANNEL,
    { email: { email: '' }, sms: { phone_number: '+4915112345678' } },
    [
      'email.email: must not be empty',
      'sms: does not belong to provider_type email: remove it, or set provider_type to sms',
    ],
  ],
  [
    CHANNEL,
    { email: [{ email: 'a@b.example' }] },
    'email: must be a mapping, not a list',
    // A block may be a list of one.
    { terraform: null },
  ],
  [
    CHANNEL,
    { email: [{ email: 'a@b.example' }, { email: 'c@d.example' }] },
    'email: must be a mapping, not a list',
    { terraform: /Too many email blocks/ },
  ],
  [CHANNEL, { name: x(257) }, 'name: has 257 characters, but at most 256 are allowed'],
  ...['api', '012'].map(
    (id): Row => [
      CHANNEL,
      { monitor_ids: ['12', id] },
      'monitor_ids.1: is not an id: use a decimal number as a string, like "12"',
      { file: `monitor_ids.1: is not a reference like \${svc_http_monitor.api.id}, nor an id like "12"` },
    ],
  ),
  [
    CHANNEL,
    { monitor_ids: [12] },
    'monitor_ids.0: must be a string, not a number',
    // It makes a string of it.
    { terraform: null },
  ],
  [
    CHANNEL,
    { created_at: '2026-01-01T00:00:00Z' },
    'created_at: is set by the service: remove it',
    IGNORED_BY_THE_API,
  ],
  wrong('email', { email: 'ops' }, 'email: is not an e-mail address like ops@example.com'),
  wrong('email', { email: '' }, 'email: must not be empty'),
  wrong('webhook', {}, 'endpoint: is required', terraformRequires('endpoint')),
  wrong('webhook', { endpoint: 'example.com/hunter2' }, `endpoint: ${NO_URL}`),
  wrong(
    'webhook',
    { endpoint: ENDPOINT, headers: [header, { key: 'host', value: 'a' }] },
    'headers.1.key: names a header that the connection itself sets',
  ),
  wrong(
    'webhook',
    { endpoint: ENDPOINT, headers: [{ key: 'X-A', value: 'hunter2\nb' }] },
    'headers.0.value: must not contain line breaks or NUL',
  ),
  wrong(
    'webhook',
    { endpoint: ENDPOINT, headers: times(21, header) },
    'headers: has 21 entries, but at most 20 are allowed',
  ),
  wrong(
    'webhook',
    { endpoint: ENDPOINT, headers: [{ key: 'X-A', value: '********' }] },
    `headers.0.value: ${MASK_SENT}`,
  ),
  wrong('sms', { phone_number: '0151 123' }, `phone_number: ${NO_NUMBER}`),
  wrong('messenger_b', {}, 'phone_number: is required', terraformRequires('phone_number')),
  wrong('messenger_b', { phone_number: '+4915112345678901' }, `phone_number: ${NO_NUMBER}`),
  wrong(
    'messenger_a',
    { chat_id: 'ops' },
    'chat_id: is not a chat id: use a number like -1001234567890, or the @name of a public channel',
  ),
  secretRequired('chat_a', 'webhook_url'),
  wrong('chat_a', { webhook_url: 'hunter2' }, `webhook_url: ${NO_URL}`),
  wrong('chat_b', { webhook_url: '' }, 'webhook_url: must not be empty'),
  secretRequired('chat_c', 'webhook_url'),
  wrong(
    'chat_c',
    { webhook_url: 'https://example.com/hunter2 ' },
    'webhook_url: must not contain spaces or control characters: write a space as %20',
  ),
  wrong(
    'incident_a',
    { integration_key: 'hunter2 ' },
    'integration_key: must be printable ASCII characters without spaces',
  ),
  wrong('incident_a', { integration_key: '********' }, `integration_key: ${MASK_SENT}`),
  wrong('incident_b', { api_key: 'a', region: 'us-east' }, 'region: "us-east" is not one of us, eu'),
  wrong('incident_b', { api_key: '', region: 'eu' }, 'api_key: must not be empty'),
  secretRequired('incident_b', 'api_key'),
  secretRequired('incident_c', 'webhook_url'),
  wrong('incident_c', { webhook_url: 'file:///hunter2' }, `webhook_url: ${NO_URL}`),
  wrong(
    'push_a',
    { topic: 'a/b' },
    'topic: is not a topic: use 1 to 64 letters, digits, hyphens and underscores',
  ),
  wrong('push_a', { topic: 'a', server_url: 'push' }, `server_url: ${NO_URL}`),
  wrong(
    'push_a',
    { topic: 'a', token: x(1_025) },
    'token: has 1025 characters, but at most 1024 are allowed',
  ),
];
