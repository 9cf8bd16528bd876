import type { Alert } from '@svc/shared/channels/alert.ts';
import { asciiName, email as emailAddress } from '@svc/shared/resources/texts.ts';
import type { SettingsTable } from '@svc/shared/settings/environment.ts';
import { orProblem } from '@svc/shared/settings/setting-schemas.ts';
import { z } from 'zod';
import type { MailResult } from '../../outgoing/smtp/mail-result.ts';
import { parseSmtpRelay } from '../../outgoing/smtp/relay.ts';
import type { Channel, SendResult } from '../channel.ts';
import { contentOf } from '../content.ts';
import { type MailAddress, type MailEnvelope, renderAlertMail, renderPageMail } from '../mail-message.ts';

const SETTINGS = {
  smtpUrl: {
    name: 'SVC_SMTP_URL',
    description:
      'SMTP server for e-mail: smtp[s]://[user:password@]host[:port]. smtp:// requires STARTTLS, except with a server on this machine, where it is used for a login if it is offered, or with ?starttls=never',
    schema: z
      .string()
      .transform((text, context) => orProblem(context, () => parseSmtpRelay(text)))
      .optional(),
  },
  mailFrom: {
    name: 'SVC_MAIL_FROM',
    description: 'sender of e-mail: an address, or a name with one as in svc <svc@example.com>',
    schema: z
      .string()
      .transform((text, context) => orProblem(context, () => parseSender(text)))
      .optional(),
  },
} as const satisfies SettingsTable;

/**
 * E-mail by the operator's SMTP server. A server does not recognise a repetition. So a mail that is
 * sent twice has the same `Message-ID` both times, and the recipient's mail program may recognise it.
 */
export const email: Channel<'email', typeof SETTINGS> = {
  closesIncidents: false,
  isHuman: true,
  dropsOld: false,
  // Each mail server has limits of its own. svc opens only a few connections to the server.
  rate: {},
  operatorSettings: SETTINGS,
  async send({ email: to }, alert, context, { sendMail, publicUrl, operator }) {
    if (isExpired(alert, context.attemptAt)) {
      return { outcome: 'permanent-message', error: 'the link of the mail has expired', reason: 'own' };
    }
    const { mailFrom: from, smtpUrl } = operator;
    const envelope = { from, to, deliveryId: context.deliveryId, sentAt: context.attemptAt };
    const message = await rendered(alert, envelope, publicUrl);
    const result = await sendMail({
      relay: smtpUrl.reveal(),
      from: inAscii(from.address),
      to: inAscii(to),
      message,
      signal: context.signal,
    });
    return judgedMail(result);
  },
};

/**
 * Whether the mail belongs to the thread of an incident. Tests, mails about
 * many monitors, notices and mails to visitors belong to no thread.
 */
function belongsToIncident({ test, group, notice, letter }: Alert): boolean {
  return test !== true && group === undefined && notice === undefined && letter === undefined;
}

function isExpired({ letter }: Alert, now: number): boolean {
  return letter?.expiresAt !== undefined && letter.expiresAt <= now;
}

function rendered(alert: Alert, envelope: MailEnvelope, publicUrl: string): Promise<Buffer> {
  const { letter, monitor } = alert;
  if (letter !== undefined) return renderPageMail(letter, monitor.url, envelope);
  const incident = belongsToIncident(alert) ? alert.incident : null;
  return renderAlertMail(contentOf(alert, publicUrl), { ...envelope, incident });
}

/** @throws TypeError when the address is not valid */
function parseSender(text: string): MailAddress {
  const [, name = '', address = text] = /^\s*"?([^"<>\u0000-\u001f]*?)"?\s*<([^<>]*)>\s*$/.exec(text) ?? [];
  const wrong = emailAddress(address);
  if (wrong !== null)
    throw new TypeError('must be an e-mail address, or a name with one: svc <svc@example.com>');
  return { name, address };
}

/** Returns the address with its domain in ASCII. Every server understands such a domain. */
function inAscii(address: string): string {
  const at = address.lastIndexOf('@');
  return `${address.slice(0, at)}@${asciiName(address.slice(at + 1))}`;
}

/**
 * Judges how a mail was handed to the relay. A refusal is temporary or final by the first digit of its code
 * (RFC 5321, section 4.2.1). A final refusal is judged by its stage, its codes and its words. Only the operator
 * can correct a refusal of the connection, the login or the sender, so such a refusal stops no channel.
 */
function judgedMail(result: MailResult): SendResult {
  if (result.kind === 'accepted') return { outcome: 'delivered', statusCode: 250 };
  const { error } = result;
  if (result.kind === 'refused') return refusedMail(result);
  switch (result.failure) {
    case 'no-connection-free':
      return { outcome: 'not-sent', reason: 'own', error };
    case 'too-large':
      return { outcome: 'permanent-message', reason: 'refused', error };
    case 'invalid-envelope':
      return { outcome: 'permanent-channel', reason: 'refused', error };
    case 'unresolved':
    case 'unreachable':
    case 'certificate':
      return { outcome: 'retry', reason: 'unreachable', error };
    case 'timeout':
    case 'aborted':
    case 'broken':
      return { outcome: 'retry', reason: 'unanswered', error };
  }
}

/** With these codes the relay refuses all mail of svc, whoever the recipient is. */
const OPERATOR_AT_FAULT: ReadonlySet<number> = new Set([503, 530, 534, 535, 538]);

function refusedMail(refusal: Extract<MailResult, { kind: 'refused' }>): SendResult {
  const { stage, code: statusCode, error } = refusal;
  if (statusCode < 500) return { outcome: 'retry', reason: 'receiver', error, statusCode };
  const isAboutRecipient = stage === 'recipient' || stage === 'message';
  if (!isAboutRecipient || OPERATOR_AT_FAULT.has(statusCode) || isAboutSender(refusal))
    return { outcome: 'retry', reason: 'operator', error, statusCode };
  const outcome = isDeadAddress(refusal) ? 'permanent-channel' : 'permanent-message';
  return { outcome, reason: 'refused', error, statusCode };
}

/**
 * Whether a refusal at `RCPT TO` is about svc, not about the recipient. At this stage, servers
 * also judge the client, its greeting and the sender. Postfix does so by default
 * (`smtpd_delay_reject`). Exim does so when it verifies the sender, or finds the address of the
 * client in a list. In these two cases Exim answers 550, and gives the reason in words only.
 */
function isAboutSender({ stage, enhanced, error }: Extract<MailResult, { kind: 'refused' }>): boolean {
  return stage === 'recipient' && (SENDER_CODE.test(enhanced ?? '') || SENDER_WORDS.test(error));
}

/**
 * Codes of RFC 3463 about the sender's address, the server itself
 * (except its limit of size), commands of the protocol, or the policy.
 */
const SENDER_CODE = /^5\.(?:1\.[78]|3\.[^4]|5\.[1-4]|7\.\d+)/;
const SENDER_WORDS =
  /\brelay(?:ing)?\b.*(?:denied|not permitted|not allowed)|\b(?:sender address|helo command|client host)\b.* rejected|\bsender verify failed|\b(?:listed|black ?list|block ?list|blocked)\b.* (?:at|by|in|on|using) /i;

/**
 * Whether a final refusal that is about the recipient shows that the address is dead. At `RCPT TO`, every such
 * refusal shows it, except that of a full mailbox (5.2.2 or 552), because the owner may empty the mailbox. After
 * the message was transferred, only a code 5.1.x shows it: RFC 3463 reserves these codes for the address.
 */
function isDeadAddress({ stage, code, enhanced }: Extract<MailResult, { kind: 'refused' }>): boolean {
  if (stage === 'message') return /^5\.1\./.test(enhanced ?? '');
  return enhanced !== '5.2.2' && code !== 552;
}
