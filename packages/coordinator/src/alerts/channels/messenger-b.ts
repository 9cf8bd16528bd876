import type { Alert } from '@svc/shared/channels/alert.ts';
import type { SettingsTable } from '@svc/shared/settings/environment.ts';
import { z } from 'zod';
import type { Channel } from '../channel.ts';
import { contentOf, type Fact, factsWithin, plainLine } from '../content.ts';
import { charactersUpTo, shortened } from '../shortening.ts';
import { sendByTwilio, TWILIO_SETTINGS } from '../twilio.ts';

const contentSid = z
  .string()
  .regex(/^HX[0-9a-f]{32}$/, 'must be HX and 32 hexadecimal digits')
  .optional();

const SETTINGS = {
  ...TWILIO_SETTINGS,
  twilioWhatsappFrom: {
    name: 'SVC_TWILIO_WHATSAPP_FROM',
    description: 'sender of messenger_b channels: a WhatsApp number, or the SID of a messaging service',
    schema: z
      .string()
      .regex(
        /^(?:\+[1-9]\d{6,14}|MG[0-9a-f]{32})$/,
        'must be a number like +14155550100, or MG and 32 hexadecimal digits',
      )
      .optional(),
  },
  twilioContentSidError: {
    name: 'SVC_TWILIO_CONTENT_SID_ERROR',
    description: 'approved template for monitors that fail: HX and 32 hexadecimal digits',
    schema: contentSid,
  },
  twilioContentSidDegraded: {
    name: 'SVC_TWILIO_CONTENT_SID_DEGRADED',
    description: 'approved template for monitors that are degraded',
    schema: contentSid,
  },
  twilioContentSidRecovered: {
    name: 'SVC_TWILIO_CONTENT_SID_RECOVERED',
    description: 'approved template for monitors that have recovered',
    schema: contentSid,
  },
  twilioContentSidTest: {
    name: 'SVC_TWILIO_CONTENT_SID_TEST',
    description: 'approved template for tests of a channel',
    schema: contentSid,
  },
} as const satisfies SettingsTable;

type Templates = { readonly [Status in Alert['status'] | 'test']: string };

/**
 * Maximum lengths of the variables, in characters. The bounds are svc's own.
 * Twilio takes 1600 characters for each variable. WhatsApp shows 1024 characters
 * in all, which is enough for these variables and the text of a template.
 */
const NAME = charactersUpTo(150);
const FACTS = charactersUpTo(500);
const LINK = charactersUpTo(200);

/**
 * WhatsApp by Twilio. An alert begins a conversation, and WhatsApp allows only approved templates at
 * this point. So each message is one of the operator's four templates, with its variables filled in.
 */
export const messengerB: Channel<'messenger_b', typeof SETTINGS> = {
  closesIncidents: false,
  isHuman: true,
  dropsOld: true,
  // Twilio queues messages beyond the rate of a sender: see `sms.ts`.
  rate: {},
  operatorSettings: SETTINGS,
  send({ phone_number: to }, alert, { signal }, { operatorPost, publicUrl, operator }) {
    const { twilioWhatsappFrom: from } = operator;
    const templates = {
      error: operator.twilioContentSidError,
      degraded: operator.twilioContentSidDegraded,
      recovered: operator.twilioContentSidRecovered,
      test: operator.twilioContentSidTest,
    };
    const content = renderWhatsApp(alert, templates, publicUrl);
    const message = { to: `whatsapp:${to}`, from: from.startsWith('+') ? `whatsapp:${from}` : from, content };
    return sendByTwilio(message, operator, { post: operatorPost, signal });
  },
};

/**
 * Returns the template of the alert with its variables: the title (1), the facts (2) and
 * the link (3). No variable may be empty or have line breaks (Twilio's error 21656).
 */
function renderWhatsApp(alert: Alert, templates: Templates, publicUrl: string) {
  const { title, facts, link } = contentOf(alert, publicUrl);
  const joined = (some: readonly Fact[]) => some.map(plainLine).join('; ');
  const variables = {
    1: shortened(title, NAME),
    2: joined(factsWithin(facts, (some) => FACTS(joined(some)))) || '-',
    3: shortened(link, LINK),
  };
  return {
    ContentSid: templates[alert.test === true ? 'test' : alert.status],
    ContentVariables: JSON.stringify(variables),
  };
}
