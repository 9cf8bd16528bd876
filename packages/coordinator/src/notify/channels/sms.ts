import type { Alert } from '@svc/shared/channels/alert.ts';
import type { SettingsTable } from '@svc/shared/settings.ts';
import { z } from 'zod';
import type { Channel } from '../channel.ts';
import { contentOf, linesWithin, plainLine } from '../content.ts';
import { inGsm7, septets } from '../gsm-7.ts';
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

/** Room of two segments, which phones show as one message, in septets (3GPP TS 23.040). */
const TWO_SEGMENTS = 306;

/** SMS by Twilio, in two segments at most. */
export const sms: Channel<'sms', typeof SETTINGS> = {
  closesIncidents: false,
  isHuman: true,
  dropsOld: true,
  // Twilio queues what exceeds the rate of a sender, and drops it after an hour.
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

/** The title, the facts that fit, and the link, which is of no use when it is cut. */
function renderSms(alert: Alert, publicUrl: string): string {
  const { title, facts, link } = contentOf(alert, publicUrl);
  const end = septets(inGsm7(`\n${link}`)) <= TWO_SEGMENTS / 2 ? `\n${inGsm7(link)}` : '';
  const within =
    (most: number): Fits =>
    (text) =>
      septets(inGsm7(text)) <= most;
  const room = TWO_SEGMENTS - septets(end);
  const first = inGsm7(shortened(title, within(Math.floor(room / 2))));
  // The line break before the facts takes one.
  const lines = inGsm7(linesWithin(facts, plainLine, within(room - septets(first) - 1)));
  return `${first}${lines === '' ? '' : `\n${lines}`}${end}`;
}
