import type { SendingKind } from '@svc/coordinator/notify/registry.ts';
import type { Case } from './case.ts';
import { chatACase } from './chat-a.ts';
import { chatBCase } from './chat-b.ts';
import { chatCCase } from './chat-c.ts';
import { messengerACase } from './messenger-a.ts';
import { pushACase } from './push-a.ts';
import { webhookCase } from './webhook.ts';

/** One line for each kind that this version can send to. */
export const CASES: { readonly [K in SendingKind]: Case<K> } = {
  webhook: webhookCase,
  messenger_a: messengerACase,
  chat_a: chatACase,
  chat_b: chatBCase,
  chat_c: chatCCase,
  push_a: pushACase,
};
