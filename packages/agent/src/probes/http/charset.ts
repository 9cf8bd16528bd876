import { isUtf8 } from 'node:buffer';
import { MIMEType } from 'node:util';

/**
 * `unknown` is set when the declared charset is not in
 * the Encoding Standard. The text was then read as UTF-8.
 */
export type DecodedText = { text: string; unknown?: string };

/**
 * Reads a body as browsers show it (HTML standard, "encoding sniffing algorithm"). The first of
 * these that exists decides: a byte order mark, the charset of `Content-Type`, a `meta` within
 * the first 1,024 bytes of HTML, the declaration of XML. Everything else is read as UTF-8.
 *
 * Labels and decoders follow the Encoding Standard. Node's own `TextDecoder`
 * (24.21) does not read some characters of Shift_JIS, EUC-KR and Big5 as browsers
 * do (`findings/node-text-decoder-korean.sh`). Other modules are used instead. They
 * are loaded when the first body needs them, because they take a few megabytes.
 *
 * @param bytes must stay valid until the promise settles
 * @param contentType value of the header; several values are joined by a comma
 */
export async function decodeBody(bytes: Buffer, contentType: string | undefined): Promise<DecodedText> {
  const { essence, charset } = typeOf(contentType);
  const xml = XML.test(essence);
  const saysInside = xml || essence === 'text/html' || essence === '';
  const isPlain = charset === undefined ? !saysInside : UTF8.test(charset);
  if (isPlain && !isMarked(bytes)) return { text: bytes.toString() };
  const [{ TextDecoder, labelToName }, { default: sniffEncoding }] = await Promise.all([
    import('@exodus/bytes/encoding.js'),
    import('html-encoding-sniffer'),
  ]);
  const found = sniffEncoding(saysInside ? bytes : bytes.subarray(0, 3), {
    xml,
    transportLayerEncodingLabel: charset,
    defaultEncoding: null,
  });
  if (found !== null && found !== 'replacement') return { text: new TextDecoder(found).decode(bytes) };
  const label = charset ?? DECLARED.exec(bytes.toString('latin1', 0, 1_024))?.[1];
  const text = bytes.toString();
  return label === undefined || (found === null && labelToName(label) !== null)
    ? { text }
    : { text, unknown: label };
}

/**
 * The value of a header as people see it: decoded as UTF-8 if its bytes are
 * valid UTF-8, otherwise as Latin-1.
 */
export function fieldText(value: string): string {
  if (!BEYOND_ASCII.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : value;
}

const UTF8 = /^utf-?8$/i;
const BEYOND_ASCII = /[\x80-\xff]/;
const XML = /^(?:text\/xml|application\/xml|.*\+xml)$/;
/** Finds the text that looks like the declaration of a charset. It is used only for the message. */
const DECLARED = /(?:charset|encoding)\s*=\s*["']?\s*([^\s"'<>/;?]{1,40})/i;

/** Whether the bytes begin with a byte order mark of UTF-8 or UTF-16. */
function isMarked([first, second]: Buffer): boolean {
  return (
    (first === 0xef && second === 0xbb) ||
    (first === 0xfe && second === 0xff) ||
    (first === 0xff && second === 0xfe)
  );
}

/** The last valid type in the header, and its charset (Fetch standard, "extract a MIME type"). */
function typeOf(contentType = ''): { essence: string; charset: string | undefined } {
  let essence = '';
  let charset: string | undefined;
  for (const each of contentType.split(',')) {
    const type = parsed(each);
    if (type === null || type.essence === '*/*') continue;
    const given = type.params.get('charset');
    if (given !== null || type.essence !== essence) charset = given ?? undefined;
    essence = type.essence;
  }
  return { essence, charset };
}

function parsed(type: string): MIMEType | null {
  try {
    return new MIMEType(type);
  } catch {
    // The error is ERR_INVALID_MIME_SYNTAX. Other clients ignore such a type too.
    return null;
  }
}
