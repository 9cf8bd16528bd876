import type { Alert } from '@svc/shared/channels/alert.ts';
import { addressSecrets } from '@svc/shared/masking/mask.ts';
import { z } from 'zod';
import type { PostReply } from '../../outgoing/http-post.ts';
import type { Channel, SendResult } from '../channel.ts';
import { type Content, contentOf, cssColor, type Fact, factsWithin } from '../content.ts';
import { addressIn, HTML, inForms } from '../escaping.ts';
import { charactersUpTo, shortened } from '../shortening.ts';
import { jsonOf, judged, postJson, refused } from '../vendor-api.ts';

/**
 * Google Chat, by the webhook of a space. The alerts of an incident are in one thread. Source:
 * https://developers.google.com/workspace/chat/quickstart/webhooks (2026-11-22).
 */
export const chatC: Channel<'chat_c'> = {
  closesIncidents: false,
  isHuman: true,
  dropsOld: false,
  // All apps of a space share a limit of one message a second.
  rate: { channel: { perMinute: 60, burst: 1 } },
  declaredUrl: { attribute: 'webhook_url', hosts: ['chat.googleapis.com'] },
  operatorSettings: {},
  async send({ webhook_url: address }, alert, { deliveryId, signal, thread }, { post, publicUrl }) {
    // The first alert of the incident may have been in a message
    // about many monitors, in the thread of another incident.
    const threadKey = thread ?? alert.incident;
    const result = await postJson(post, {
      url: withOptions(address, deliveryId),
      body: renderGoogleChat(alert, threadKey, publicUrl),
      secrets: addressSecrets(address),
      signal,
    });
    const answer = judged(result, ownMeaning, 'users');
    return answer.outcome === 'delivered' ? { ...answer, thread: threadKey } : answer;
  },
};

/**
 * Adds options to the address of the webhook. If the thread of the message was deleted, the message begins
 * a new thread. Google posts only one message per `requestId`, but does not promise this for webhooks.
 */
function withOptions(address: string, deliveryId: string): string {
  const url = URL.parse(address);
  if (url === null) return address;
  url.searchParams.set('messageReplyOption', 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD');
  url.searchParams.set('requestId', deliveryId);
  return url.href;
}

/** Maximum length of the title, in characters. The bound is svc's own, because Google documents none. */
const TITLE_CHARACTERS = 300;
/**
 * Maximum size of the message as JSON, bytes. Google takes 32,000 bytes, cards included:
 * https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages (2026-11-22).
 */
const MESSAGE_BYTES = 30_000;

function renderGoogleChat(alert: Alert, threadKey: string, publicUrl: string) {
  const content = contentOf(alert, publicUrl);
  const title = shortened(content.title, charactersUpTo(TITLE_CHARACTERS));
  const message = (facts: readonly Fact[]) => ({
    // The text that notifications show. `<users/all>` in this text would mention everybody.
    fallbackText: title.replaceAll('<', '‹'),
    cardsV2: [{ cardId: 'alert', card: cardOf({ ...content, title, facts }) }],
    thread: { threadKey },
  });
  const size = (facts: readonly Fact[]) => Buffer.byteLength(JSON.stringify(message(facts)));
  return message(factsWithin(content.facts, (facts) => size(facts) <= MESSAGE_BYTES));
}

function cardOf({ status, title, facts, link, linkText }: Content) {
  const heading = `<font color="${cssColor(status)}"><b>${inForms(HTML, title)}</b></font>`;
  const button = { text: linkText, onClick: { openLink: { url: link } } };
  const widgets = [
    { textParagraph: { text: heading } },
    ...facts.map(widgetOf),
    { buttonList: { buttons: [button] } },
  ];
  return { sections: [{ widgets }] };
}

/**
 * Texts of cards are in a subset of HTML. Google links an address
 * in such a text only if the address is marked up as a link.
 */
function widgetOf({ label, text, isAddress }: Fact) {
  const shown = isAddress ? addressIn(HTML, text) : inForms(HTML, text);
  return { decoratedText: { topLabel: label, text: shown, wrapText: true } };
}

const failure = z.object({
  error: z.object({ details: z.array(z.looseObject({ reason: z.string().optional() })).optional() }),
});

/**
 * Google answers 400 if the key in the declared address is
 * wrong. In that case the address is at fault, not the message.
 */
function ownMeaning(reply: PostReply): SendResult | null {
  if (reply.statusCode !== 400) return null;
  const details = failure.safeParse(jsonOf(reply)).data?.error.details ?? [];
  const isKeyWrong = details.some(({ reason }) => reason === 'API_KEY_INVALID');
  return isKeyWrong ? refused('permanent-channel', reply) : null;
}
