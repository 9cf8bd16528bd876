import type { SendingKind } from '@svc/coordinator/alerts/registry.ts';
import type { Case } from './case.ts';
import { chatACase } from './chat-a.ts';
import { chatBCase } from './chat-b.ts';
import { chatCCase } from './chat-c.ts';
import { incidentACase } from './incident-a.ts';
import { incidentBCase } from './incident-b.ts';
import { incidentCCase } from './incident-c.ts';
import { messengerACase } from './messenger-a.ts';
import { pushACase } from './push-a.ts';
import { messengerBCase, smsCase } from './twilio.ts';
import { webhookCase } from './webhook.ts';

/** The kinds that send over HTTP. E-mail has a suite of its own: `mail.test.ts`. */
export type PostingKind = Exclude<SendingKind, 'email'>;

/** One line for each kind that this version can send to over HTTP. */
export const CASES: { readonly [K in PostingKind]: Case<K> } = {
  webhook: webhookCase,
  sms: smsCase,
  messenger_b: messengerBCase,
  messenger_a: messengerACase,
  chat_a: chatACase,
  chat_b: chatBCase,
  chat_c: chatCCase,
  incident_a: incidentACase,
  incident_b: incidentBCase,
  incident_c: incidentCCase,
  push_a: pushACase,
};
