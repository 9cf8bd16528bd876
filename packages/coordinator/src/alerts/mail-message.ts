import { type Content, cssColor } from './content.ts';
import { addressIn, escapedMarkup, HTML, inForms } from './escaping.ts';
import { composeMail, type MailEnvelope, mailDomain, SUBJECT } from './mail-composing.ts';
import { shortened } from './shortening.ts';

export type MailHeaders = MailEnvelope & {
  /** Key of the incident whose thread the mail belongs to; null: none. */
  readonly incident: string | null;
};

/**
 * Renders a mail: text and HTML, without anything that a program would have to load.
 *
 * All mails of an incident refer to one id that no mail has, so that they are a thread whichever of them arrives. The
 * subject begins with the state of each: in a list of mails, a recovery must not read as a failure.
 *
 * @returns the message of RFC 5322
 */
export async function renderMail(content: Content, headers: MailHeaders): Promise<Buffer> {
  const { incident } = headers;
  // A colon has a meaning in an id.
  const thread =
    incident === null ? null : `<${incident.replaceAll(':', '.')}.incident@${mailDomain(headers)}>`;
  return composeMail(headers, {
    subject: shortened(content.title, SUBJECT),
    text: textOf(content),
    html: htmlOf(content),
    thread,
  });
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
