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

/** Bounds in characters: https://docs.opsgenie.com/docs/alert-api (2026-11-21). */
const MESSAGE = charactersUpTo(130);
const ENTITY = charactersUpTo(512);
const DESCRIPTION = charactersUpTo(15_000);
const NOTE = charactersUpTo(25_000);

/** Kept for an incident that was opened: its later alerts change what it says. */
const OPENED = 'opened';

type Step = { readonly method: 'POST' | 'PUT'; readonly path: string; readonly body: object };

/**
 * Opsgenie, Alert API v2 (docs.opsgenie.com, read on 2026-11-21), and what speaks like it.
 *
 * The key of the incident is the alias. A second creation under an open alias only raises its count, so message,
 * description and priority are changed by requests of their own. With 202 Opsgenie has queued a request; it
 * may still fail there.
 */
export const incidentB: Channel<'incident_b', typeof SETTINGS> = {
  closesIncidents: true,
  isHuman: false,
  dropsOld: false,
  // Opsgenie's own limits depend on the customer's plan, and come with its answers.
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
    // They do not wait for each other: Opsgenie queues them anyway, and the attempt has 15 s in all.
    const [opened, ...changed] = await Promise.all([request(first), ...changes.map(request)]);
    const failed = [judgedByApi(opened, 202, own), ...changed.map(judgedChange)].find(
      ({ outcome }) => outcome !== 'delivered',
    );
    return failed ?? { outcome: 'delivered', statusCode: 202, thread: OPENED };
  },
};

/** The requests of an alert; all but the first change what an open alert says. */
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
    // All values must be texts.
    details: { monitor_id: String(monitor.id), link: content.link, reason },
  };
}

/** 402: the customer's plan has no API. The key is the channel's. */
const OF_THE_CHANNEL: ReadonlySet<number> = new Set([401, 402, 403]);

function own(reply: PostReply): SendResult | null {
  const { statusCode } = reply;
  if (OF_THE_CHANNEL.has(statusCode)) return refused('permanent-channel', reply);
  return statusCode === 429 ? passing(reply, { waitMs: periodOf(reply) }) : null;
}

/** An alert whose text cannot be changed is open all the same: services that speak like Opsgenie may not know how. */
function judgedChange(result: PostResult): SendResult {
  const judged = judgedByApi(result, 202, own);
  const { outcome, statusCode = 0 } = judged;
  const isRefused = statusCode >= 400 && statusCode <= 499 && statusCode !== 429;
  return outcome !== 'delivered' && isRefused ? { outcome: 'delivered', statusCode } : judged;
}

/** The window of the limit that was reached: a second or a minute, in ms. */
function periodOf({ headers, retryAfterMs }: PostReply): number | undefined {
  const seconds = Number(headers['x-ratelimit-period-in-sec']);
  return retryAfterMs ?? (Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined);
}
