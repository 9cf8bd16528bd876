import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelSettings } from '@svc/shared/channels/settings.ts';
import { pathSecrets, querySecrets } from '@svc/shared/masking/mask.ts';
import { basicAuthorization, credentialsIn } from '@svc/shared/url-secrets.ts';
import { mergeHeaders, type PostReply } from '../../outgoing/http-post.ts';
import type { Channel, SendResult } from '../channel.ts';
import { judged, passing, refused } from '../vendor-api.ts';

/**
 * Name of the header by which receivers recognise repetitions. A header in the settings cannot replace it.
 */
const DELIVERY_ID = 'webhook-id';
/** Name of the header that only tests have. Its value is `true`. A header in the settings cannot replace it. */
const TEST = 'svc-test';
/**
 * Name of the header that only reminders have. Its value is the number of the reminder, from 1. A header in the
 * settings cannot replace it.
 */
const REMINDER = 'svc-reminder';
const OWN_HEADERS = [DELIVERY_ID, TEST, REMINDER];

/**
 * A custom HTTP endpoint. svc posts a JSON object to it, with the configured headers and without a signature.
 */
export const webhook: Channel<'webhook'> = {
  closesIncidents: false,
  isHuman: false,
  dropsOld: false,
  rate: {},
  declaredUrl: { attribute: 'endpoint', hosts: 'any' },
  operatorSettings: {},
  async send(settings, alert, { deliveryId, attemptAt, signal }, { post }) {
    const url = URL.parse(settings.endpoint);
    const credentials = url === null ? null : credentialsIn(url);
    const headers = mergeHeaders(
      {
        ...(credentials === null ? {} : { authorization: basicAuthorization(credentials) }),
        'content-type': 'application/json',
        'user-agent': 'svc',
        // The names of these two headers are those of Standard Webhooks 1.0.0. The id is the same
        // on all attempts. The timestamp is the start of the attempt, in seconds since the epoch.
        [DELIVERY_ID]: deliveryId,
        'webhook-timestamp': String(Math.floor(attemptAt / 1_000)),
        ...(alert.test === true ? { [TEST]: 'true' } : {}),
        ...(alert.reminder === undefined ? {} : { [REMINDER]: String(alert.reminder.number) }),
      },
      (settings.headers ?? []).filter(({ key }) => !OWN_HEADERS.includes(key.toLowerCase())),
    );
    const result = await post({
      url: settings.endpoint,
      headers,
      body: JSON.stringify(renderWebhook(alert)),
      secrets: secretsOf(settings),
      signal,
    });
    return judged(result, ownMeaning);
  },
};

/**
 * Returns the body, which has only the attributes below. An
 * optional attribute is present only if the alert has it.
 */
function renderWebhook(alert: Alert) {
  return {
    monitor: { id: alert.monitor.id, name: alert.monitor.name, url: alert.monitor.url },
    cronTimestamp: alert.cronTimestamp,
    status: alert.status,
    ...(alert.statusCode === undefined ? {} : { statusCode: alert.statusCode }),
    ...(alert.latency === undefined ? {} : { latency: alert.latency }),
    ...(alert.errorMessage === undefined ? {} : { errorMessage: alert.errorMessage }),
  };
}

/**
 * 410 means that the receiver wants no further alert. After any other refusal
 * svc tries again, because the receiver may be repaired within a day.
 */
function ownMeaning(reply: PostReply): SendResult | null {
  const { statusCode } = reply;
  if (statusCode >= 200 && statusCode <= 299) return null;
  return statusCode === 410 ? refused('permanent-channel', reply) : passing(reply);
}

/**
 * The secrets in the settings: the values of headers, and the parts of
 * the address that may be credentials (user information, path and query).
 */
function secretsOf(settings: ChannelSettings['webhook']): string[] {
  const headers = (settings.headers ?? []).map(({ value }) => value);
  const url = URL.parse(settings.endpoint);
  if (url === null) return headers;
  const credentials = credentialsIn(url);
  const userInfo =
    credentials === null
      ? []
      : [url.username, url.password, credentials.user, credentials.password, basicAuthorization(credentials)];
  return [...headers, ...querySecrets(url), ...userInfo, ...pathSecrets(url)];
}
