import { type Content, cssColor } from './content.ts';
import { addressIn, escapedMarkup, HTML, inForms } from './escaping.ts';
import { composeMail, type MailEnvelope, mailDomain, SUBJECT } from './mail-composing.ts';
import { shortened } from './shortening.ts';

export type MailHeaders = MailEnvelope & {
  /** Key of the incident whose thread the mail belongs to; null: none. */
  readonly incident: string | null;
  /** Subject of the mail that opened the thread; null: this one does. */
  readonly openingSubject: string | null;
};

/**
 * Renders a mail: text and HTML, without anything that a program would have to load.
 *
 * All mails of an incident refer to one id that no mail has, so that they are a thread whichever of them arrives,
 * and share a subject, which Gmail asks for (`Re:` does not count: RFC 5256, section 2.1).
 *
 * @returns the message of RFC 5322, and the subject for the later mails of its thread
 */
export async function renderMail(
  content: Content,
  headers: MailHeaders,
): Promise<{ subject: string; message: Buffer }> {
  const { incident, openingSubject } = headers;
  const subject = openingSubject ?? shortened(content.title, SUBJECT);
  // A colon has a meaning in an id.
  const thread =
    incident === null ? null : `<${incident.replaceAll(':', '.')}.incident@${mailDomain(headers)}>`;
  const message = await composeMail(headers, {
    subject: openingSubject === null ? subject : `Re: ${subject}`,
    text: textOf(content),
    html: htmlOf(content),
    thread,
  });
  return { subject, message };
}

function textOf({ title, facts, link }: Content): string {
  const lines = facts.map(({ label, text }) => `${label}: ${text}`);
  return `${title}\n\n${lines.join('\n')}\n\n${link}\n`;
}

/** Mail programs know no style sheets, only the attribute. */
function htmlOf({ status, title, facts, link }: Content): string {
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
