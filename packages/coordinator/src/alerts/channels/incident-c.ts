import type { Alert } from '@svc/shared/channels/alert.ts';
import { addressSecrets } from '@svc/shared/masking/mask.ts';
import type { PostReply } from '../../outgoing/http-post.ts';
import type { Channel, SendResult } from '../channel.ts';
import { contentOf, linesWithin, plainLine } from '../content.ts';
import { INVISIBLE, inForms, type TextForms } from '../escaping.ts';
import { charactersUpTo, shortened } from '../shortening.ts';
import { judged, passing, postJson } from '../vendor-api.ts';

/**
 * Maximum lengths of the title and of the message, in characters. They are svc's own
 * bounds, because OnCall documents none. OnCall passes the texts on to chats and phones.
 */
const TITLE = charactersUpTo(256);
const MESSAGE = charactersUpTo(4_000);

/**
 * Grafana OnCall and Grafana Cloud IRM, by a formatted webhook (source: the code of OnCall's
 * `formatted_webhook`, read on 2026-11-21). The key of the incident is the `alert_uid`.
 * Alerts with the same key are one group, and the state `ok` resolves the group.
 */
export const incidentC: Channel<'incident_c'> = {
  closesIncidents: true,
  isHuman: false,
  dropsOld: false,
  // OnCall takes 300 requests in 5 minutes per integration. This rate never exceeds the limit.
  rate: { channel: { perMinute: 50, burst: 50 } },
  declaredUrl: { attribute: 'webhook_url', hosts: 'any' },
  operatorSettings: {},
  async send({ webhook_url: url }, alert, { signal }, { post, publicUrl }) {
    const result = await postJson(post, {
      url,
      body: renderOnCall(alert, publicUrl),
      secrets: addressSecrets(url),
      signal,
    });
    return judged(result, ownMeaning, 'users');
  },
};

function renderOnCall(alert: Alert, publicUrl: string) {
  const { title, facts, link } = contentOf(alert, publicUrl);
  return {
    alert_uid: alert.incident,
    title: shortened(withoutMentions(title), TITLE),
    message: linesWithin(facts, (fact) => withoutMentions(plainLine(fact)), MESSAGE),
    state: alert.status === 'recovered' ? 'ok' : 'alerting',
    link_to_upstream_details: link,
  };
}

/**
 * Writes texts without mentions, because OnCall escapes nothing and passes the texts on to chats. A
 * monitor's name could notify everybody. An invisible character after the beginning of a mention prevents
 * that. Addresses stay as they are: the character would break them, and no chat finds a mention in them.
 */
const WITHOUT_MENTIONS: TextForms = {
  text: (text) => text.replace(/<(?=[!@#])|(?<![\w.-])@/g, `$&${INVISIBLE}`),
  link: (address) => address,
  address: (address) => address,
};

function withoutMentions(text: string): string {
  return inForms(WITHOUT_MENTIONS, text);
}

/** OnCall answers 200. If the status is any other 2xx, a proxy answered. */
function ownMeaning(reply: PostReply): SendResult | null {
  const { statusCode } = reply;
  return statusCode > 200 && statusCode <= 299 ? passing(reply) : null;
}
