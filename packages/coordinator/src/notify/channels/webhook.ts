import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelSettings } from '@svc/shared/channels/settings.ts';
import { basicAuthorization, credentialsIn, unescapePercent } from '@svc/shared/user-info.ts';
import { mergeHeaders, type PostResult } from '../../outgoing/http-post.ts';
import { querySecrets } from '../../outgoing/mask.ts';
import type { Channel, SendResult } from '../channel.ts';

/** Receivers drop by it what comes a second time: a configured one does not take its place. */
const DELIVERY_ID = 'webhook-id';

/** A custom HTTP endpoint: the specification's flat JSON, with the configured headers and no signature. */
export const webhook: Channel<'webhook'> = {
  closesIncidents: false,
  operatorSettings: {},
  async send(settings, alert, { deliveryId, attemptAt, signal }, { post }) {
    const url = URL.parse(settings.endpoint);
    const credentials = url === null ? null : credentialsIn(url);
    const headers = mergeHeaders(
      {
        ...(credentials === null ? {} : { authorization: basicAuthorization(credentials) }),
        'content-type': 'application/json',
        'user-agent': 'svc',
        // Names from Standard Webhooks 1.0.0: the id stays over all attempts, the time is the attempt's, in seconds.
        [DELIVERY_ID]: deliveryId,
        'webhook-timestamp': String(Math.floor(attemptAt / 1_000)),
      },
      (settings.headers ?? []).filter(({ key }) => key.toLowerCase() !== DELIVERY_ID),
    );
    const result = await post({
      url: settings.endpoint,
      headers,
      body: JSON.stringify(renderWebhook(alert)),
      secrets: secretsOf(settings),
      signal,
    });
    return judge(result);
  },
};

/** The body: exactly these members, the optional ones whenever they apply. */
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

/** 410 is how a receiver says "never again"; everything else may be a fault that is repaired within a day. */
function judge(result: PostResult): SendResult {
  if (result.kind === 'unanswered') {
    const outcome = result.failure === 'invalid-request' ? 'permanent-channel' : 'retry';
    return { outcome, error: result.error };
  }
  const { statusCode, retryAfterMs, excerpt } = result;
  if (statusCode >= 200 && statusCode <= 299) return { outcome: 'delivered', statusCode };
  const error = `the receiver answered ${statusCode}${excerpt === '' ? '' : `: ${excerpt}`}`;
  if (statusCode === 410) return { outcome: 'permanent-channel', error, statusCode };
  return { outcome: 'retry', error, statusCode, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** Shorter segments of a path are words, longer ones may be keys. */
const SHORTEST_KEY = 8;

/** Each as it was written and with its percent-encoding undone: receivers repeat the one or the other. */
function pathSecrets({ pathname }: URL): string[] {
  return pathname
    .split('/')
    .flatMap((segment) => [segment, unescapePercent(segment)])
    .filter(({ length }) => length >= SHORTEST_KEY);
}

/** Header values, and what people put into the address to authenticate: user information, path and query. */
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
