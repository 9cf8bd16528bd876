import type { OperatorValues } from '@svc/coordinator/alerts/sender.ts';
import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { z } from 'zod';
import { OnCall } from '../../support/vendors/oncall.ts';
import { Opsgenie } from '../../support/vendors/opsgenie.ts';
import { PagerDuty } from '../../support/vendors/pagerduty.ts';
import { serveVendor } from '../../support/vendors/serve.ts';
import { MailServer } from '../../support/vendors/smtp.ts';
import { Twilio } from '../../support/vendors/twilio.ts';
import type { Vendor } from '../../support/vendors/vendor.ts';
import { MESSAGE_VENDORS, type MessageKind, type MessageVendor } from '../channels/message-vendors.ts';
import {
  ENDS_OF_MESSAGES,
  type Ends,
  endsOfIncidents,
  type Life,
  statusOf,
  type VendorSide,
} from './life.ts';

const KEY = '0123456789abcdef0123456789abcdef';
const ACCOUNT_SID = `AC${KEY}`;
const TOKEN = 'twilio-token-s3cret';
const NUMBER = '+14155550100';

const TEMPLATE = 'Message from your uptime monitoring: {{1}}. Details: {{2}}. See {{3}} for more.';
const templateOf = (digit: number) => `HX${String(digit).repeat(32)}`;
const TEMPLATES = Object.fromEntries([1, 2, 3, 4].map((digit) => [templateOf(digit), TEMPLATE]));

/** A vendor over HTTP. */
async function over<K extends ChannelKind>(
  vendor: Vendor,
  held: () => readonly string[],
  declared: (url: string) => { settings: ChannelSettings[K]; operator: OperatorValues },
): Promise<VendorSide<K>> {
  const server = await serveVendor(vendor);
  const { url, goDown, comeBack, holdNext, close } = server;
  return { ...declared(url), held, goDown, comeBack, holdNext, close };
}

const incidentA: Life<'incident_a'> = {
  start() {
    const vendor = new PagerDuty([KEY]);
    const held = () =>
      vendor.incidents.map(({ state, severity }) => (state === 'resolved' ? state : `open ${severity}`));
    return over(vendor, held, (url) => ({
      settings: { integration_key: KEY },
      operator: { incidentABaseUrl: url },
    }));
  },
  ends: endsOfIncidents({
    error: 'open critical',
    degraded: 'open warning',
    escalated: 'open critical',
    over: 'resolved',
  }),
};

const incidentB: Life<'incident_b'> = {
  start() {
    const vendor = new Opsgenie([KEY]);
    const held = () =>
      vendor.alerts.map(({ status, priority, message }) =>
        status === 'closed' ? status : `open ${priority} ${statusOf(message)}`,
      );
    return over(vendor, held, (url) => ({
      settings: { api_key: KEY, region: 'eu' },
      operator: { incidentBUsBaseUrl: 'http://127.0.0.1:1', incidentBEuBaseUrl: url },
    }));
  },
  ends: endsOfIncidents({
    error: 'open P1 error',
    degraded: 'open P3 degraded',
    escalated: 'open P1 error',
    over: 'closed',
  }),
};

const incidentC: Life<'incident_c'> = {
  start() {
    const vendor = new OnCall('/integrations/v1/formatted_webhook/token-s3cret/');
    const held = () =>
      vendor.groups.map(({ state, titles }) =>
        state === 'resolved' ? state : `firing ${statusOf(titles.at(-1) ?? '')}`,
      );
    return over(vendor, held, (url) => ({
      settings: { webhook_url: `${url}/integrations/v1/formatted_webhook/token-s3cret/` },
      operator: {},
    }));
  },
  ends: {
    ...endsOfIncidents({
      error: 'firing error',
      degraded: 'firing degraded',
      escalated: 'firing error',
      over: 'resolved',
    }),
    // Connections broke, so OnCall may have got the beginning. It shows the end that it gets.
    'recovered during an outage of the vendor that began before the incident': ['resolved'],
  },
};

function twilio(): { vendor: Twilio; operator: (url: string) => OperatorValues } {
  const account = { sid: ACCOUNT_SID, token: TOKEN, senders: [NUMBER], templates: TEMPLATES };
  const operator = (url: string) => ({
    twilioAccountSid: ACCOUNT_SID,
    twilioAuthToken: new Secret(TOKEN),
    twilioBaseUrl: url,
    twilioSmsFrom: NUMBER,
    twilioWhatsappFrom: NUMBER,
    twilioContentSidError: templateOf(1),
    twilioContentSidDegraded: templateOf(2),
    twilioContentSidRecovered: templateOf(3),
    twilioContentSidTest: templateOf(4),
  });
  return { vendor: new Twilio(account), operator };
}

const sms: Life<'sms'> = {
  start() {
    const { vendor, operator } = twilio();
    const held = () => vendor.messages.map(({ text }) => statusOf(text));
    return over(vendor, held, (url) => ({
      settings: { phone_number: '+4915112345678' },
      operator: operator(url),
    }));
  },
  ends: ENDS_OF_MESSAGES,
};

const messengerB: Life<'messenger_b'> = {
  start() {
    const { vendor, operator } = twilio();
    const [before = ''] = TEMPLATE.split('{{1}}');
    const held = () => vendor.messages.map(({ text }) => statusOf(text.slice(before.length)));
    return over(vendor, held, (url) => ({
      settings: { phone_number: '+4915112345678' },
      operator: operator(url),
    }));
  },
  ends: ENDS_OF_MESSAGES,
};

const email: Life<'email'> = {
  async start() {
    const server = await MailServer.start();
    return {
      settings: { email: 'ops@example.com' },
      operator: {
        smtpUrl: new Secret({ host: '127.0.0.1', port: server.port, tls: 'none', credentials: null }),
        mailFrom: { name: 'svc', address: 'svc@example.com' },
      },
      held: () => server.mails.map(({ parsed }) => statusOf(parsed.parts[0]?.text ?? '')),
      goDown: () => server.refuse('connect', { code: 421, text: 'out of order' }),
      comeBack: () => server.refuse('connect', null),
      holdNext() {
        const release = server.hold();
        const taken = server.received(server.mails.length + 1).then(() => {});
        return { taken, release };
      },
      close: () => server.close(),
    };
  },
  ends: ENDS_OF_MESSAGES,
};

/** A vendor that shows messages to people. */
function messages<K extends MessageKind>(kind: K, ends: Partial<Ends> = {}): Life<K> {
  const vendorOf: MessageVendor<K> = MESSAGE_VENDORS[kind];
  return {
    start() {
      const vendor = vendorOf.create();
      const held = () => vendor.messages.map(({ text }) => statusOf(text));
      return over(vendor, held, (url) => ({
        settings: vendorOf.settings(url),
        operator: vendorOf.operator(url),
      }));
    },
    ends: { ...ENDS_OF_MESSAGES, ...ends },
  };
}

const webhook: Life<'webhook'> = {
  start() {
    const statuses: string[] = [];
    const body = z.object({ status: z.string() });
    const vendor: Vendor = {
      answer({ json }) {
        statuses.push(body.parse(json).status);
        return { status: 200 };
      },
    };
    return over(
      vendor,
      () => statuses,
      (url) => ({
        settings: { endpoint: url, headers: null },
        operator: {},
      }),
    );
  },
  // The message does not say that it is a test: its receiver sees an error of a monitor without an id.
  ends: { ...ENDS_OF_MESSAGES, 'a test': ['error'] },
};

/** One line for each kind, whose vendor gets the whole life of an incident. */
export const LIVES: { readonly [K in ChannelKind]: Life<K> } = {
  email,
  webhook,
  messenger_a: messages('messenger_a'),
  chat_a: messages('chat_a'),
  chat_b: messages('chat_b'),
  // Google knows the repeat by its request id.
  chat_c: messages('chat_c', { 'killed between the send and its record': ['error'] }),
  push_a: messages('push_a'),
  sms,
  messenger_b: messengerB,
  incident_a: incidentA,
  incident_b: incidentB,
  incident_c: incidentC,
};
