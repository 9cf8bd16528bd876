import type { Letter } from '@svc/shared/channels/alert.ts';
import { escapedMarkup, HTML, inForms, linesAsHtml } from './escaping.ts';
import { composeMail, type MailEnvelope, SUBJECT } from './mail-composing.ts';
import { shortened } from './shortening.ts';

/**
 * Renders a mail of a status page to a visitor, without anything that a program would have to load.
 *
 * News carry the headers of a one-click unsubscription (RFC 8058). Those ask for HTTPS: under plain HTTP a program may
 * open the address, and nothing is unsubscribed without a press of its button.
 *
 * @param link address of the button
 */
export function renderLetter(letter: Letter, link: string, envelope: MailEnvelope): Promise<Buffer> {
  return composeMail(
    { ...envelope, from: { ...envelope.from, name: letter.sender } },
    {
      subject: shortened(letter.subject, SUBJECT),
      text: textOf(letter, link),
      html: htmlOf(letter, link),
      thread: null,
      headers: unsubscribeHeaders(letter),
    },
  );
}

function unsubscribeHeaders({ unsubscribe }: Letter): Record<string, string> {
  if (unsubscribe === undefined) return {};
  return {
    'List-Unsubscribe': `<${unsubscribe.url}>`,
    ...(unsubscribe.url.startsWith('https:')
      ? { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
      : {}),
  };
}

function textOf({ lines, button, footer, unsubscribe }: Letter, link: string): string {
  const end = unsubscribe === undefined ? [] : [`${unsubscribe.text}: ${unsubscribe.url}`];
  // The signature mark of RFC 3676, section 4.3.
  return `${[...lines, `${button}: ${link}`, ['-- ', footer, ...end].join('\n')].join('\n\n')}\n`;
}

/** Mail programs know no style sheets, only the attribute. */
function htmlOf({ subject, lines, button, footer, unsubscribe }: Letter, link: string): string {
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
