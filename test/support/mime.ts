/** A part of a mail (RFC 2045 and 2046), decoded. */
export type MimePart = {
  /** Values by names in lower case, unfolded, with encoded words decoded. */
  readonly headers: ReadonlyMap<string, string>;
  /** `text/plain`, in lower case and without parameters. */
  readonly type: string;
  /** Decoded text; '' for a part that has parts. */
  readonly text: string;
  readonly parts: readonly MimePart[];
};

/**
 * Reads a mail as a mail program does. It accepts only the forms that svc sends, and throws for all others.
 */
export function parseMail(raw: string): MimePart {
  const [, head = '', body = ''] = /^([\s\S]*?)\r\n\r\n([\s\S]*)$/.exec(raw) ?? [];
  const headers = headersOf(head);
  const [type = 'text/plain'] = (headers.get('content-type') ?? '').toLowerCase().split(';');
  if (!type.startsWith('multipart/')) {
    return { headers, type, text: decoded(body, headers.get('content-transfer-encoding')), parts: [] };
  }
  const boundary = /boundary="?([^";]+)"?/i.exec(headers.get('content-type') ?? '')?.[1];
  if (boundary === undefined) throw new Error('a multipart without a boundary');
  const sections = `\r\n${body}`.split(`\r\n--${boundary}`);
  if (!sections.at(-1)?.startsWith('--')) throw new Error('a multipart without an end');
  const parts = sections.slice(1, -1).map((section) => parseMail(section.replace(/^[ \t]*\r\n/, '')));
  return { headers, type, text: '', parts };
}

function headersOf(head: string): Map<string, string> {
  const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const at = line.indexOf(':');
    if (at < 1 || /[^\u0021-\u007e]/.test(line.slice(0, at))) throw new Error(`no header: ${line}`);
    const name = line.slice(0, at).toLowerCase();
    if (headers.has(name)) throw new Error(`${name} comes twice`);
    headers.set(name, words(line.slice(at + 1).trim()));
  }
  return headers;
}

/** Decodes encoded words (RFC 2047); blanks between two of them do not count. */
function words(text: string): string {
  return text.replace(/(\?=)\s+(=\?)/g, '$1$2').replace(/(?:=\?utf-8\?[BQ]\?[^?]*\?=)+/gi, (run) => {
    const bytes = [...run.matchAll(/=\?utf-8\?([BQ])\?([^?]*)\?=/gi)].map(([, how = '', what = '']) =>
      how.toUpperCase() === 'B' ? Buffer.from(what, 'base64') : unquoted(what.replaceAll('_', ' ')),
    );
    return Buffer.concat(bytes).toString();
  });
}

function decoded(body: string, encoding = '7bit'): string {
  switch (encoding.toLowerCase()) {
    case '7bit':
      if (/[^\u0000-\u007f]/.test(body)) throw new Error('7bit with other characters');
      return body;
    case 'base64':
      return Buffer.from(body, 'base64').toString();
    case 'quoted-printable':
      return unquoted(body.replace(/=\r\n/g, '')).toString();
    default:
      throw new Error(`unknown encoding ${encoding}`);
  }
}

function unquoted(text: string): Buffer {
  return Buffer.from(
    text.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
}
