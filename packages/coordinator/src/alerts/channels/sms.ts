import type { Alert } from '@svc/shared/channels/alert.ts';
import type { SettingsTable } from '@svc/shared/settings/environment.ts';
import { z } from 'zod';
import type { Channel } from '../channel.ts';
import { contentOf, linesWithin, plainLine } from '../content.ts';
import { inGsm7, losesLetters, septets } from '../gsm-7.ts';
import { type Fits, shortened } from '../shortening.ts';
import { sendByTwilio, TWILIO_SETTINGS } from '../twilio.ts';

const SENDER =
  /^(?:\+[1-9]\d{6,14}|\d{3,8}|MG[0-9a-f]{32}|(?=[A-Za-z0-9 ]{0,10}[A-Za-z])[A-Za-z0-9][A-Za-z0-9 ]{0,10})$/;

const SETTINGS = {
  ...TWILIO_SETTINGS,
  twilioSmsFrom: {
    name: 'SVC_TWILIO_SMS_FROM',
    description: 'sender of SMS: a number, a short code, a name, or the SID of a messaging service',
    schema: z
      .string()
      .regex(
        SENDER,
        'must be a number like +14155550100, a short code, a name of at most 11 letters and digits, or MG and 32 hexadecimal digits',
      )
      .optional(),
  },
} as const satisfies SettingsTable;

/** An encoding of SMS, and the size of two segments, which phones show as one message (3GPP TS 23.040). */
type Encoding = { written(text: string): string; size(text: string): number; readonly twoSegments: number };
/** GSM-7. Sizes are in septets. */
const GSM_7: Encoding = { written: inGsm7, size: septets, twoSegments: 306 };
/**
 * UCS-2. Sizes are in UTF-16 code units. Twilio uses this
 * encoding for a text with a character outside of GSM-7.
 */
const UCS_2: Encoding = { written: (text) => text, size: ({ length }) => length, twoSegments: 134 };

/** SMS by Twilio, in two segments at most. */
export const sms: Channel<'sms', typeof SETTINGS> = {
  closesIncidents: false,
  isHuman: true,
  dropsOld: true,
  // Twilio queues messages beyond the rate of a sender.
  // After an hour, it drops a message that is still queued.
  rate: {},
  operatorSettings: SETTINGS,
  send({ phone_number: to }, alert, { signal }, { operatorPost, publicUrl, operator }) {
    const content = { Body: renderSms(alert, publicUrl) };
    return sendByTwilio({ to, from: operator.twilioSmsFrom, content }, operator, {
      post: operatorPost,
      signal,
    });
  },
};

/**
 * Returns the title, the facts that fit, and the link. A link that needs more than half
 * of the two segments is left out, because a cut link is of no use. The text is in
 * GSM-7, unless the title has letters or digits that GSM-7 cannot represent.
 */
function renderSms(alert: Alert, publicUrl: string): string {
  const { title, facts, link } = contentOf(alert, publicUrl);
  const { written, size, twoSegments } = losesLetters(title) ? UCS_2 : GSM_7;
  const end = size(written(`\n${link}`)) <= twoSegments / 2 ? `\n${written(link)}` : '';
  const within =
    (most: number): Fits =>
    (text) =>
      size(written(text)) <= most;
  const room = twoSegments - size(end);
  const first = written(shortened(title, within(Math.floor(room / 2))));
  // The 1 is the line break before the facts.
  const lines = written(linesWithin(facts, plainLine, within(room - size(first) - 1)));
  return `${first}${lines === '' ? '' : `\n${lines}`}${end}`;
}
