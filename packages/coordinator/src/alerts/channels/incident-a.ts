import type { Alert } from '@svc/shared/channels/alert.ts';
import type { SettingsTable } from '@svc/shared/settings/environment.ts';
import { urlOf } from '@svc/shared/settings/setting-schemas.ts';
import { z } from 'zod';
import type { PostReply } from '../../outgoing/http-post.ts';
import type { Channel, SendResult } from '../channel.ts';
import { type Content, contentOf, detailsOf, summaryOf } from '../content.ts';
import { charactersUpTo, shortened } from '../shortening.ts';
import { apiUrl, jsonOf, judgedByApi, postJson, refused } from '../vendor-api.ts';

const SETTINGS = {
  incidentABaseUrl: {
    name: 'SVC_INCIDENT_A_BASE_URL',
    description: 'base URL of the API of incident_a channels',
    default: 'https://events.pagerduty.com',
    schema: urlOf(['https:', 'http:']),
  },
} as const satisfies SettingsTable;

/**
 * Maximum length of a summary, in characters:
 * https://developer.pagerduty.com/api-reference/368ae3d938c9e-send-an-event-to-pager-duty (2026-11-21).
 */
const SUMMARY = charactersUpTo(1_024);

/**
 * PagerDuty, Events API v2 (developer.pagerduty.com, read on 2026-11-21).
 *
 * The key of the incident is the `dedup_key`. PagerDuty opens one incident for a key, adds later alerts to
 * the log of the incident, and resolves the incident. If no incident with the key is open, PagerDuty drops
 * a resolve event. It only logs an escalation, and does not page people who have acknowledged the incident.
 */
export const incidentA: Channel<'incident_a', typeof SETTINGS> = {
  closesIncidents: true,
  isHuman: false,
  dropsOld: false,
  // PagerDuty takes 120 events a minute per key. This rate never exceeds the limit.
  rate: { channel: { perMinute: 60, burst: 60 } },
  operatorSettings: SETTINGS,
  async send({ integration_key: key }, alert, { signal }, { operatorPost, publicUrl, operator }) {
    const result = await postJson(operatorPost, {
      url: apiUrl(operator.incidentABaseUrl, '/v2/enqueue'),
      body: renderPagerDuty(key, alert, publicUrl),
      secrets: [key],
      signal,
    });
    return judgedByApi(result, 202, keyMeaning);
  },
};

function renderPagerDuty(key: string, alert: Alert, publicUrl: string) {
  const event = { routing_key: key, dedup_key: alert.incident };
  if (alert.status === 'recovered') return { ...event, event_action: 'resolve' };
  const content = contentOf(alert, publicUrl);
  return {
    ...event,
    event_action: 'trigger',
    payload: payloadOf(alert, content),
    links: [{ href: content.link, text: 'Monitor' }],
    client: 'svc',
    client_url: content.link,
  };
}

function payloadOf({ monitor, status, at, reason, test }: Alert, content: Content) {
  const severity = status === 'error' ? 'critical' : 'warning';
  return {
    summary: shortened(summaryOf(content), SUMMARY),
    source: content.facts.find(({ isAddress }) => isAddress)?.text ?? 'svc',
    severity: test === true ? 'info' : severity,
    timestamp: new Date(at).toISOString(),
    component: monitor.name,
    class: reason,
    custom_details: detailsOf(content),
  };
}

const refusal = z.object({ errors: z.array(z.string()) });

/** Only a wrong integration key stops the channel, because the key is one of the channel's settings. */
function keyMeaning(reply: PostReply): SendResult | null {
  if (reply.statusCode !== 400) return null;
  const errors = refusal.safeParse(jsonOf(reply)).data?.errors ?? [];
  return errors.some((error) => /routing[ _]?key/i.test(error)) ? refused('permanent-channel', reply) : null;
}
