import { Secret } from '@svc/shared/secret.ts';
import type { ReceivedRequest } from '../../support/receiver.ts';
import type { Case } from './case.ts';
import { API_VERDICTS } from './vendor-verdicts.ts';

const SID = 'AC0123456789abcdef0123456789abcdef';
const TOKEN = 'twilio-token-s3cret';
const BASIC = Buffer.from(`${SID}:${TOKEN}`).toString('base64');
const PATH = `/2010-04-01/Accounts/${SID}/Messages.json`;
const templateOf = (digit: number) => `HX${String(digit).repeat(32)}`;

/** The form, and what it is sent with. */
function bodyOf({ text, headers }: ReceivedRequest) {
  return {
    form: Object.fromEntries(new URLSearchParams(text)),
    type: headers['content-type'],
    authorization: headers.authorization,
  };
}

const sent = { type: 'application/x-www-form-urlencoded', authorization: `Basic ${BASIC}` };
const account = (url: string) => ({
  twilioAccountSid: SID,
  twilioAuthToken: new Secret(TOKEN),
  twilioBaseUrl: url,
});
const common = {
  settings: () => ({ phone_number: '+4915112345678' }),
  secrets: [TOKEN, BASIC],
  path: PATH,
  taken: 201,
  verdicts: { ...API_VERDICTS, 201: 'delivered' },
  bodyOf,
} as const;

const TEXT = `Error: Shop "größte" ?
Problem: status code 503, expected 200
Status code: 503
Latency: 123.4 ms
HTTP target: https://shop.example/health?...
Regions: 1 of 1 (hosta-fra)
Failing since: 2026-01-01 00:00:01 UTC
https://svc.example/monitors/12/incident`;

export const smsCase: Case<'sms'> = {
  ...common,
  shownOf: ({ text }) => new URLSearchParams(text).get('Body'),
  operator: (url) => ({ ...account(url), twilioSmsFrom: 'svc' }),
  payload: {
    ...sent,
    form: {
      To: '+4915112345678',
      From: 'svc',
      ValidityPeriod: '3600',
      Body: TEXT,
    },
  },
};

export const messengerBCase: Case<'messenger_b'> = {
  ...common,
  shownOf: ({ text }) => JSON.parse(new URLSearchParams(text).get('ContentVariables') ?? ''),
  operator: (url) => ({
    ...account(url),
    twilioWhatsappFrom: '+14155550100',
    twilioContentSidError: templateOf(1),
    twilioContentSidDegraded: templateOf(2),
    twilioContentSidRecovered: templateOf(3),
    twilioContentSidTest: templateOf(4),
  }),
  payload: {
    ...sent,
    form: {
      To: 'whatsapp:+4915112345678',
      From: 'whatsapp:+14155550100',
      ValidityPeriod: '3600',
      ContentSid: templateOf(1),
      ContentVariables: JSON.stringify({
        1: 'Error: Shop "größte" \u{1F6D2}',
        2: 'Problem: status code 503, expected 200; Status code: 503; Latency: 123.4 ms; HTTP target: https://shop.example/health?…; Regions: 1 of 1 (hosta-fra); Failing since: 2026-01-01 00:00:01 UTC',
        3: 'https://svc.example/monitors/12/incident',
      }),
    },
  },
};
