import type { Alert } from '@svc/shared/channels/alert.ts';
import type { SettingsTable } from '@svc/shared/settings/environment.ts';
import { urlOf } from '@svc/shared/settings/setting-schemas.ts';
import type { PostReply, PostResult } from '../../outgoing/http-post.ts';
import type { Channel, SendResult } from '../channel.ts';
import { type Content, contentOf, plainText, summaryOf } from '../content.ts';
import { charactersUpTo, shortened } from '../shortening.ts';
import { apiUrl, judgedByApi, passing, postJson, refused } from '../vendor-api.ts';

const baseUrl = urlOf(['https:', 'http:']);
const SETTINGS = {
  incidentBUsBaseUrl: {
    name: 'SVC_INCIDENT_B_US_BASE_URL',
    description: 'base URL of the API of incident_b channels in the region us',
    default: 'https://api.opsgenie.com',
    schema: baseUrl,
  },
  incidentBEuBaseUrl: {
    name: 'SVC_INCIDENT_B_EU_BASE_URL',
    description: 'base URL of the API of incident_b channels in the region eu',
    default: 'https://api.eu.opsgenie.com',
    schema: baseUrl,
  },
} as const satisfies SettingsTable;

/** Maximum lengths of texts, in characters: https://docs.opsgenie.com/docs/alert-api (2026-11-21). */
const MESSAGE = charactersUpTo(130);
const ENTITY = charactersUpTo(512);
const DESCRIPTION = charactersUpTo(15_000);
const NOTE = charactersUpTo(25_000);

/**
 * The `thread` of an incident that was opened. Later alerts of the
 * incident change the texts and the priority of the open alert.
 */
const OPENED = 'opened';

type Step = { readonly method: 'POST' | 'PUT'; readonly path: string; readonly body: object };

/**
 * Opsgenie, Alert API v2 (docs.opsgenie.com, read on 2026-11-21), and services with the same API.
 *
 * The key of the incident is the alias. A second creation with the alias of an open alert only
 * raises the count of that alert. So svc changes the message, the description and the priority by
 * a separate request each. 202 means that Opsgenie has queued the request, which may still fail.
 */
export const incidentB: Channel<'incident_b', typeof SETTINGS> = {
  closesIncidents: true,
  isHuman: false,
  dropsOld: false,
  // The limits depend on the customer's plan. Opsgenie sends them with its answers.
  rate: {},
  operatorSettings: SETTINGS,
  async send({ api_key: key, region }, alert, context, { operatorPost, publicUrl, operator }) {
    const { signal, thread } = context;
    const base = region === 'eu' ? operator.incidentBEuBaseUrl : operator.incidentBUsBaseUrl;
    const request = ({ method, path, body }: Step): Promise<PostResult> =>
      postJson(operatorPost, {
        method,
        url: apiUrl(base, path),
        headers: { authorization: `GenieKey ${key}` },
        body,
        secrets: [key],
        signal,
      });
    const [first, ...changes] = renderOpsgenie(alert, publicUrl, thread !== null);
    // All requests are sent at the same time, so that the attempt takes at most
    // 15 s, the time limit of one request. Opsgenie queues the requests anyway.
    const [opened, ...changed] = await Promise.all([request(first), ...changes.map(request)]);
    const failed = [judgedByApi(opened, 202, ownMeaning), ...changed.map(judgedChange)].find(
      ({ outcome }) => outcome !== 'delivered',
    );
    return failed ?? { outcome: 'delivered', statusCode: 202, thread: OPENED };
  },
};

/**
 * Returns the requests of an alert. The first request creates or closes the alert
 * at Opsgenie. Further requests change the texts and the priority of an open alert.
 */
function renderOpsgenie(alert: Alert, publicUrl: string, isOpen: boolean): [Step, ...Step[]] {
  const content = contentOf(alert, publicUrl);
  const ofAlias = (action: string) =>
    `/v2/alerts/${encodeURIComponent(alert.incident)}/${action}?identifierType=alias`;
  const text = plainText(content);
  if (alert.status === 'recovered') {
    return [{ method: 'POST', path: ofAlias('close'), body: { source: 'svc', note: shortened(text, NOTE) } }];
  }
  const creation = creationOf(alert, content, text);
  const { message, description, priority } = creation;
  const change = (member: string, body: object): Step => ({ method: 'PUT', path: ofAlias(member), body });
  return [
    { method: 'POST', path: '/v2/alerts', body: creation },
    ...(isOpen
      ? [
          change('message', { message }),
          change('description', { description }),
          change('priority', { priority }),
        ]
      : []),
  ];
}

function creationOf(alert: Alert, content: Content, text: string) {
  const { monitor, status, incident, reason, test } = alert;
  const priority = status === 'error' ? 'P1' : 'P3';
  return {
    message: shortened(summaryOf(content), MESSAGE),
    alias: incident,
    description: shortened(text, DESCRIPTION),
    priority: test === true ? 'P5' : priority,
    source: 'svc',
    entity: shortened(monitor.name, ENTITY),
    tags: ['svc', monitor.type],
    // Opsgenie takes only strings as values of `details`.
    details: { monitor_id: String(monitor.id), link: content.link, reason },
  };
}

/**
 * Statuses with which Opsgenie refuses the key, which is a
 * setting of the channel. 402: the customer's plan has no API.
 */
const KEY_AT_FAULT: ReadonlySet<number> = new Set([401, 402, 403]);

function ownMeaning(reply: PostReply): SendResult | null {
  const { statusCode } = reply;
  if (KEY_AT_FAULT.has(statusCode)) return refused('permanent-channel', reply);
  return statusCode === 429 ? passing(reply, { waitMs: periodOf(reply) }) : null;
}

/**
 * Judges the answer to a change of an open alert. A refusal (4xx except 429)
 * counts as delivered, because some services with this API cannot change texts.
 */
function judgedChange(result: PostResult): SendResult {
  const judged = judgedByApi(result, 202, ownMeaning);
  const { outcome, statusCode = 0 } = judged;
  const isRefused = statusCode >= 400 && statusCode <= 499 && statusCode !== 429;
  return outcome !== 'delivered' && isRefused ? { outcome: 'delivered', statusCode } : judged;
}

/**
 * Wait before the next request, ms: the wait of `Retry-After`, or else the period of the
 * limit that was reached (a second or a minute). Undefined if the answer has neither.
 */
function periodOf({ headers, retryAfterMs }: PostReply): number | undefined {
  const seconds = Number(headers['x-ratelimit-period-in-sec']);
  return retryAfterMs ?? (Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined);
}
