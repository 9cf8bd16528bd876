import type { PageMail } from '@svc/shared/channels/alert.ts';
import { asciiName } from '@svc/shared/resources/texts.ts';
import { loadNodemailer } from '../outgoing/smtp/session.ts';
import { type Content, cssColor } from './content.ts';
import { addressIn, escapedMarkup, HTML, INVISIBLE, inForms, linesAsHtml } from './escaping.ts';
import { charactersUpTo, shortened } from './shortening.ts';

/*
 * Renders mails as text and as HTML. A mail program loads nothing from elsewhere to show such a mail. Many
 * mail programs ignore style sheets, so all styles are in attributes.
 */

export type MailAddress = {
  /** Display name; '' if the address has none. */
  readonly name: string;
  readonly address: string;
};

export type MailEnvelope = {
  readonly from: MailAddress;
  readonly to: string;
  /** See `SendContext.deliveryId`. A repeated mail has the same id, and so the same `Message-ID`. */
  readonly deliveryId: string;
  /** Start of the attempt, epoch ms. */
  readonly sentAt: number;
};

export type MailBody = {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Id to which all mails of one thread refer; null: the mail belongs to no thread. */
  readonly thread: string | null;
  /** Headers in addition to those that every mail has. */
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * Maximum length of a subject, in characters. The bound is svc's
 * own, because some mail programs neither show nor compare more.
 */
const SUBJECT = charactersUpTo(200);

export type AlertMailHeaders = MailEnvelope & {
  /** Key of the incident to whose thread the mail belongs; null: the mail belongs to no thread. */
  readonly incident: string | null;
};

/**
 * Renders the mail of an alert.
 *
 * All mails with the same `incident` refer to the same id, which no mail has. So they form a thread even if
 * some of them do not arrive. The subject of an alert about the status of one monitor begins with the status,
 * because a recovery must not read as a failure in a list of mails.
 *
 * @returns the message of RFC 5322
 */
export async function renderAlertMail(content: Content, headers: AlertMailHeaders): Promise<Buffer> {
  const { incident } = headers;
  // A message id cannot contain a colon (RFC 5322, section 3.6.4).
  const thread =
    incident === null ? null : `<${incident.replaceAll(':', '.')}.incident@${mailDomain(headers)}>`;
  return composeMail(headers, {
    subject: shortened(content.title, SUBJECT),
    text: alertText(content),
    html: alertHtml(content),
    thread,
  });
}

function alertText({ title, facts, link }: Content): string {
  const lines = facts.map(({ label, text }) => `${label}: ${text}`);
  return `${title}\n\n${lines.join('\n')}\n\n${link}\n`;
}

function alertHtml({ status, title, facts, link }: Content): string {
  const rows = facts.map(
    ({ label, text, isAddress }) =>
      `<tr><td style="padding:2px 16px 2px 0;color:#5f6368;vertical-align:top">${escapedMarkup(label)}</td><td style="padding:2px 0">${isAddress ? addressIn(HTML, text) : inForms(HTML, text)}</td></tr>`,
  );
  return [
    '<!doctype html><html><head><meta charset="utf-8"></head>',
    '<body style="font-family:sans-serif;font-size:15px;color:#202124">',
    `<h1 style="font-size:18px;color:${cssColor(status)}">${inForms(HTML, title)}</h1>`,
    `<table style="border-collapse:collapse">${rows.join('')}</table>`,
    `<p>${addressIn(HTML, link)}</p>`,
    '</body></html>',
  ].join('\n');
}

/**
 * Renders a mail of a status page to a visitor.
 *
 * A mail with `unsubscribe` has the header `List-Unsubscribe`, with the address of a page. Opening that page
 * changes nothing: the visitor unsubscribes by the page's button. If the address is HTTPS, the mail also has
 * the header `List-Unsubscribe-Post`, by which mail programs unsubscribe with one click (RFC 8058).
 *
 * @param link the URL that the mail's button opens
 */
export function renderPageMail(mail: PageMail, link: string, envelope: MailEnvelope): Promise<Buffer> {
  return composeMail(
    { ...envelope, from: { ...envelope.from, name: mail.sender } },
    {
      subject: shortened(mail.subject, SUBJECT),
      text: pageMailText(mail, link),
      html: pageMailHtml(mail, link),
      thread: null,
      headers: unsubscribeHeaders(mail),
    },
  );
}

function unsubscribeHeaders({ unsubscribe }: PageMail): Record<string, string> {
  if (unsubscribe === undefined) return {};
  return {
    'List-Unsubscribe': `<${unsubscribe.url}>`,
    ...(unsubscribe.url.startsWith('https:')
      ? { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
      : {}),
  };
}

function pageMailText({ lines, button, footer, unsubscribe }: PageMail, link: string): string {
  const end = unsubscribe === undefined ? [] : [`${unsubscribe.text}: ${unsubscribe.url}`];
  // The line '-- ' begins the signature (RFC 3676, section 4.3).
  return `${[...lines, `${button}: ${link}`, ['-- ', footer, ...end].join('\n')].join('\n\n')}\n`;
}

function pageMailHtml({ subject, lines, button, footer, unsubscribe }: PageMail, link: string): string {
  const forms = { ...HTML, text: linesAsHtml };
  const paragraphs = lines.map((line) => `<p style="margin:0 0 16px">${inForms(forms, line)}</p>`);
  const end =
    unsubscribe === undefined
      ? ''
      : ` <a href="${escapedMarkup(unsubscribe.url)}" style="color:#5f6368">${escapedMarkup(unsubscribe.text)}</a>`;
  return [
    `<!doctype html><html><head><meta charset="utf-8"><title>${escapedMarkup(subject)}</title></head>`,
    '<body style="font-family:sans-serif;font-size:16px;line-height:1.5;color:#202124;max-width:560px">',
    ...paragraphs,
    `<p style="margin:24px 0"><a href="${escapedMarkup(link)}" style="display:inline-block;padding:10px 20px;border-radius:6px;background:#1a56db;color:#ffffff;text-decoration:none">${escapedMarkup(button)}</a></p>`,
    `<p style="font-size:13px;color:#5f6368">${escapedMarkup(footer)}${end}</p>`,
    '</body></html>',
  ].join('\n');
}

/** The domain of the sender's address, in ASCII. */
function mailDomain({ from }: Pick<MailEnvelope, 'from'>): string {
  return asciiName(from.address.slice(from.address.lastIndexOf('@') + 1));
}

/**
 * Composes a message of RFC 5322 with a text part and an HTML part. The texts of
 * headers are encoded, so that a line break in a text cannot begin another header.
 */
export async function composeMail(
  envelope: MailEnvelope,
  { subject, text, html, thread, headers = {} }: MailBody,
): Promise<Buffer> {
  const { from, to, deliveryId, sentAt } = envelope;
  const { MailComposer } = await loadNodemailer();
  const message = new MailComposer({
    from: { ...from, name: undecodable(from.name) },
    to: { name: '', address: to },
    subject: undecodable(subject),
    messageId: `<${deliveryId}@${mailDomain(envelope)}>`,
    ...(thread === null ? {} : { inReplyTo: thread, references: [thread] }),
    date: new Date(sentAt),
    // RFC 3834, section 5, defines `Auto-Submitted`. Exchange defines `X-Auto-Response-Suppress`.
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
 * Prevents mail programs from decoding a header's text into another text. An ASCII text that looks
 * like an encoded word (RFC 2047) would be sent unchanged, and mail programs would decode it. A
 * word joiner is invisible and not ASCII. If a text has one, the composer encodes the whole text.
 */
function undecodable(text: string): string {
  return text.replaceAll('=?', `=${INVISIBLE}?`);
}
