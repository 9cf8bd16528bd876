import { asciiName } from '@svc/shared/resources/texts.ts';
import { loadNodemailer } from '../outgoing/smtp/nodemailer.ts';
import { INVISIBLE } from './escaping.ts';
import { charactersUpTo } from './shortening.ts';

export type MailAddress = {
  /** '' when there is none. */
  readonly name: string;
  readonly address: string;
};

/** From whom to whom, and when. */
export type MailEnvelope = {
  readonly from: MailAddress;
  readonly to: string;
  /** The same for every attempt, so that a repeat is the same mail. */
  readonly deliveryId: string;
  /** Epoch ms. */
  readonly sentAt: number;
};

export type MailBody = {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Id that all mails of one thread refer to; null: it belongs to none. */
  readonly thread: string | null;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** A bound of our own on a subject, in characters. Some programs show and compare no more. */
export const SUBJECT = charactersUpTo(200);

/** The domain of the sender, in ASCII. */
export function mailDomain({ from }: Pick<MailEnvelope, 'from'>): string {
  return asciiName(from.address.slice(from.address.lastIndexOf('@') + 1));
}

/** Composes a message of RFC 5322, in text and in HTML. Texts are encoded: no line of theirs becomes a header. */
export async function composeMail(
  envelope: MailEnvelope,
  { subject, text, html, thread, headers = {} }: MailBody,
): Promise<Buffer> {
  const { from, to, deliveryId, sentAt } = envelope;
  const { MailComposer } = await loadNodemailer();
  const message = new MailComposer({
    from: { ...from, name: asWritten(from.name) },
    to: { name: '', address: to },
    subject: asWritten(subject),
    messageId: `<${deliveryId}@${mailDomain(envelope)}>`,
    ...(thread === null ? {} : { inReplyTo: thread, references: [thread] }),
    date: new Date(sentAt),
    // RFC 3834, section 5; the second is Exchange's.
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All', ...headers },
    text,
    html,
    textEncoding: 'quoted-printable',
    baseBoundary: deliveryId,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return message.compile().build();
}

/**
 * A text for a header that no program decodes into another one. A name may look like an encoded word (RFC 2047), and is
 * sent as it is where it is ASCII. A word joiner, which is not seen, makes it another text, which is encoded as a whole.
 */
function asWritten(text: string): string {
  return text.replaceAll('=?', `=${INVISIBLE}?`);
}
