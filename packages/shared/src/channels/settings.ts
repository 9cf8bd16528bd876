import { LIMITS } from '../limits.ts';
import { type NormalizedAttributes, optional, required, singleBlock } from '../resources/definition.ts';
import {
  chatId,
  credential,
  email,
  headerValue,
  httpUrl,
  httpUrlWithUserInfo,
  outgoingHeaderName,
  phoneNumber,
  topic,
} from '../resources/texts.ts';
import { choice, objects, text } from '../resources/values.ts';
import { urlSecrets } from '../url-secrets.ts';

const address = text({ min: 1, max: LIMITS.target, check: httpUrl, form: 'http(s) URL' });
const server = text({
  min: 1,
  max: LIMITS.target,
  check: httpUrl,
  form: 'http(s) URL',
  secretPart: urlSecrets,
});
const secret = text({ min: 1, max: LIMITS.credential, check: credential });
const phone = text({ min: 1, check: phoneNumber, form: 'international format, +4915112345678' });

const webhookUrl = {
  webhook_url: required(address, 'Address of the incoming webhook.', { sensitive: true }),
};

/** The settings of each kind of channel. A notification has them as a block under the name of its kind. */
export const CHANNEL_BLOCKS = {
  email: singleBlock('E-mail.', {
    email: required(text({ min: 1, max: 320, check: email, form: 'e-mail address' }), 'Recipient.'),
  }),
  webhook: singleBlock('Custom HTTP endpoint: a POST with a JSON body.', {
    endpoint: required(
      text({
        min: 1,
        max: LIMITS.target,
        check: httpUrlWithUserInfo,
        form: 'http(s) URL',
      }),
      'Address that the alert is posted to. User information in the address is sent as Basic credentials, unless an `Authorization` header is configured.',
      { secret: true },
    ),
    headers: optional(
      objects(LIMITS.headers, {
        key: required(
          text({ min: 1, max: LIMITS.headerName, check: outgoingHeaderName, form: 'header name' }),
          'Header name.',
        ),
        value: required(
          text({ maxBytes: LIMITS.headerValueBytes, check: headerValue, form: 'at most 8 KiB' }),
          'Header value.',
          { secret: true },
        ),
      }),
      'Headers that are sent with the alert, for example a shared secret. They replace the headers that svc sets, except `webhook-id`, by which receivers drop an alert that comes twice, `svc-test`, which only tests have, and `svc-reminder`, which only reminders have.',
    ),
  }),
  sms: singleBlock('SMS.', { phone_number: required(phone, 'Recipient.') }),
  messenger_b: singleBlock('Messaging app on a phone number.', {
    phone_number: required(phone, 'Recipient.'),
  }),
  messenger_a: singleBlock('Chat messenger with a bot.', {
    chat_id: required(
      text({ min: 1, check: chatId, form: 'number or @name' }),
      'Chat that the bot writes to.',
    ),
  }),
  chat_a: singleBlock('Team chat, webhook.', webhookUrl),
  chat_b: singleBlock('Team chat, incoming webhook.', webhookUrl),
  chat_c: singleBlock('Workspace chat space, webhook.', webhookUrl),
  incident_a: singleBlock('Incident alerting.', {
    integration_key: required(secret, 'Integration key.', { sensitive: true }),
  }),
  incident_b: singleBlock('Incident management.', {
    api_key: required(secret, 'API key.', { sensitive: true }),
    region: required(choice(['us', 'eu']), 'Region of the account.'),
  }),
  incident_c: singleBlock('On-call management.', webhookUrl),
  push_a: singleBlock('Push-notification topic service.', {
    topic: required(text({ min: 1, check: topic, form: '1 to 64 letters, digits, - and _' }), 'Topic.'),
    server_url: optional(server, 'Address of the server, where it is not the default server.'),
    token: optional(secret, 'Bearer token.', { sensitive: true }),
  }),
};

export type ChannelKind = keyof typeof CHANNEL_BLOCKS;

/** The kinds of channel, in the order of the reference page. */
export const CHANNEL_KINDS = Object.keys(CHANNEL_BLOCKS) as [ChannelKind, ...ChannelKind[]];

/** Normalized settings of a channel, by its kind. */
export type ChannelSettings = {
  [K in ChannelKind]: NormalizedAttributes<(typeof CHANNEL_BLOCKS)[K]['attributes']>;
};
