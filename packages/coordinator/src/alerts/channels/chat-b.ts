import type { Alert } from '@svc/shared/channels/alert.ts';
import { addressSecrets } from '@svc/shared/masking/mask.ts';
import type { PostReply } from '../../outgoing/http-post.ts';
import type { Channel, SendResult } from '../channel.ts';
import { contentOf, cssColor, type Fact, linesWithin } from '../content.ts';
import { addressIn, escapedMarkup, inForms, type TextForms } from '../escaping.ts';
import { charactersUpTo, shortened } from '../shortening.ts';
import { judged, passing, postJson } from '../vendor-api.ts';

/**
 * Slack, by an incoming webhook. Slack's answer does not contain the id of the message, so svc can
 * neither reply to a message nor change it. Source:
 * https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks (2026-11-22).
 */
export const chatB: Channel<'chat_b'> = {
  closesIncidents: false,
  isHuman: true,
  dropsOld: false,
  // Slack accepts one message a second, and short bursts.
  rate: { channel: { perMinute: 60, burst: 5 } },
  declaredUrl: { attribute: 'webhook_url', hosts: ['hooks.slack.com', 'hooks.slack-gov.com'] },
  operatorSettings: {},
  async send({ webhook_url: url }, alert, { signal }, { post, publicUrl }) {
    const body = renderSlack(alert, publicUrl);
    const result = await postJson(post, { url, body, secrets: addressSecrets(url), signal });
    return judged(result, ownMeaning, 'users');
  },
};

/**
 * Maximum length of the text of a section, in characters:
 * https://docs.slack.dev/reference/block-kit/blocks/section-block (2026-11-22).
 */
const SECTION_CHARACTERS = 3_000;
/**
 * Maximum length of the title, in characters. The bound is svc's own:
 * Slack takes 40,000 characters. Slack shows the title in notifications.
 */
const TITLE_CHARACTERS = 1_000;

function renderSlack(alert: Alert, publicUrl: string) {
  const { status, title, facts, link } = contentOf(alert, publicUrl);
  const shown = escapedMarkup(shortened(title, charactersUpTo(TITLE_CHARACTERS, escapedMarkup)));
  const text = linesWithin(facts, lineOf, charactersUpTo(SECTION_CHARACTERS));
  return {
    text: `<${escapedMarkup(link)}|${shown}>`,
    attachments: [
      {
        color: cssColor(status),
        // `verbatim`: Slack does not search the text for addresses, and for names of people and rooms.
        blocks: [{ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } }],
      },
    ],
  };
}

function lineOf({ label, text, isAddress }: Fact): string {
  return `*${label}:* ${isAddress ? addressIn(MRKDWN, text) : inForms(MRKDWN, text)}`;
}

/**
 * With `verbatim`, Slack links an address only inside of `<…>`.
 * A `|` in the address would begin the text of the link.
 */
const MRKDWN: TextForms = {
  text: escapedMarkup,
  link: (address, target) => {
    const encoded = target.replaceAll('|', '%7C');
    const shown = encoded === address ? '' : `|${escapedMarkup(address)}`;
    return `<${escapedMarkup(encoded)}${shown}>`;
  },
  address: (address) => `\`${escapedMarkup(address).replaceAll('`', "'")}\``,
};

/** Slack has taken the message only if the body is `ok`. A proxy in between may also answer 200. */
function ownMeaning(reply: PostReply): SendResult | null {
  const { statusCode, body } = reply;
  if (statusCode < 200 || statusCode > 299) return null;
  return statusCode === 200 && body.trim() === 'ok' ? null : passing(reply);
}
