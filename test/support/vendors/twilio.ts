import { z } from 'zod';
import type { ReceivedRequest } from '../receiver.ts';
import { characters, type Vendor, type VendorAnswer, WindowLimit } from './vendor.ts';

/*
 * Twilio's Programmable Messaging: messages over SMS and WhatsApp (twilio.com/docs, read on 2026-11-22).
 */

export type TwilioMessage = {
  readonly to: string;
  readonly from: string;
  /** The text that the phone shows, with the variables of a template filled in. */
  readonly text: string;
  readonly validityS: number;
};

export type TwilioAccount = {
  readonly sid: string;
  readonly token: string;
  /** Numbers, short codes, names and messaging services that it may send from, without `whatsapp:`. */
  readonly senders: readonly string[];
  /** Approved templates by their SID, with variables as `{{1}}`. */
  readonly templates: Readonly<Record<string, string>>;
};

const PER_SECOND = 100;
/** Maximum length of a body, characters. Longer bodies are refused. */
const MOST_OF_A_BODY = 1_600;

const variables = z.record(z.string().regex(/^\d+$/), z.string().min(1).max(1_600));

type Refusal = { readonly status: number; readonly code: number; readonly message: string };

const refusal = (code: number, message: string, status = 400): Refusal => ({ status, code, message });

export class Twilio implements Vendor {
  readonly messages: TwilioMessage[] = [];
  /** Numbers that have opted out. */
  readonly optedOut = new Set<string>();
  readonly landlines = new Set<string>();
  readonly #account: TwilioAccount;
  readonly #limit: WindowLimit;

  constructor(account: TwilioAccount, now: () => number = () => 0) {
    this.#account = account;
    this.#limit = new WindowLimit(PER_SECOND, 1_000, now);
  }

  answer(request: ReceivedRequest): VendorAnswer {
    const made = this.#make(request);
    if ('code' in made) {
      const { status, code, message } = made;
      const more_info = `https://www.twilio.com/docs/errors/${code}`;
      return { status, body: { code, message, more_info, status } };
    }
    this.messages.push(made);
    const sid = `SM${String(this.messages.length).padStart(32, '0')}`;
    return { status: 201, body: { sid, status: 'queued', to: made.to, from: made.from, error_code: null } };
  }

  #make({ method, path, headers, text }: ReceivedRequest): TwilioMessage | Refusal {
    const { sid, token } = this.#account;
    const basic = `Basic ${Buffer.from(`${sid}:${token}`).toString('base64')}`;
    if (headers.authorization !== basic) return refusal(20003, `Authenticate ${headers.authorization}`, 401);
    if (path !== `/2010-04-01/Accounts/${sid}/Messages.json` || method !== 'POST')
      return refusal(20404, `The requested resource ${path} was not found`, 404);
    if (!this.#limit.take()) return refusal(20429, 'Too Many Requests', 429);
    if (headers['content-type'] !== 'application/x-www-form-urlencoded')
      return refusal(21604, "A 'To' phone number is required.");
    const form = Object.fromEntries(new URLSearchParams(text));
    return this.#checked(form);
  }

  #checked(form: Readonly<Record<string, string | undefined>>): TwilioMessage | Refusal {
    const { To: to = '', From, MessagingServiceSid, ValidityPeriod = '36000' } = form;
    const from = From ?? MessagingServiceSid ?? '';
    const isWhatsApp = to.startsWith('whatsapp:');
    const number = to.replace(/^whatsapp:/, '');
    const wrong = this.#recipientProblem(number) ?? this.#senderProblem(from, isWhatsApp);
    if (wrong !== null) return wrong;
    const validityS = Number(ValidityPeriod);
    if (!Number.isInteger(validityS) || validityS < 1 || validityS > 36_000)
      return refusal(21621, 'The ValidityPeriod is invalid');
    const text = form.ContentSid === undefined ? bodyOf(form, isWhatsApp) : this.#filledIn(form);
    return typeof text === 'string' ? { to, from, text, validityS } : text;
  }

  #recipientProblem(number: string): Refusal | null {
    if (number === '') return refusal(21604, "A 'To' phone number is required.");
    if (!/^\+[1-9]\d{6,14}$/.test(number)) return refusal(21211, `The 'To' number ${number} is not valid.`);
    if (this.landlines.has(number)) return refusal(21614, `'To' number is not a mobile number: ${number}`);
    return this.optedOut.has(number) ? refusal(21610, 'Attempt to send to unsubscribed recipient') : null;
  }

  #senderProblem(from: string, isWhatsApp: boolean): Refusal | null {
    if (from === '') return refusal(21603, "A 'From' phone number is required.");
    const isService = from.startsWith('MG');
    if (!isService && from.startsWith('whatsapp:') !== isWhatsApp)
      return refusal(isWhatsApp ? 63007 : 21212, 'The sender is of another channel');
    return this.#account.senders.includes(from.replace(/^whatsapp:/, ''))
      ? null
      : refusal(21606, `The 'From' number ${from} is not one of your account`);
  }

  #filledIn(form: Readonly<Record<string, string | undefined>>): string | Refusal {
    const template = this.#account.templates[form.ContentSid ?? ''];
    if (template === undefined) return refusal(21655, 'The ContentSid is invalid');
    const parsed = variables.safeParse(parse(form.ContentVariables ?? '{}'));
    if (!parsed.success) return refusal(21656, 'The ContentVariables Parameter is invalid');
    const given = parsed.data;
    if (Object.values(given).some((value) => /[\n\r\t]| {5}/.test(value)))
      return refusal(21656, 'The ContentVariables Parameter is invalid');
    const named = new Set([...template.matchAll(/\{\{(\d+)\}\}/g)].map(([, name]) => name));
    if (named.size !== Object.keys(given).length || Object.keys(given).some((name) => !named.has(name)))
      return refusal(63028, 'Number of parameters does not match the expected number of params');
    return template.replace(/\{\{(\d+)\}\}/g, (_, name: string) => given[name] ?? '');
  }
}

function bodyOf(
  { Body }: Readonly<Record<string, string | undefined>>,
  isWhatsApp: boolean,
): string | Refusal {
  if (Body === undefined || Body === '') return refusal(21602, 'Message body is required.');
  // Nobody has written to the sender within 24 h.
  if (isWhatsApp) return refusal(63016, 'Failed to send freeform message outside the allowed window');
  return characters(Body) > MOST_OF_A_BODY
    ? refusal(21617, 'The concatenated message body exceeds the 1600 character limit')
    : Body;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // No JSON; the schema says so.
  }
}
