/**
 * Reads a TXT record as zone files and `dig` write it: `"v=spf1 " "-all"` is `v=spf1 -all`. The pieces are
 * joined as answers are. `\"` stands for the character and `\DDD` for the byte (RFC 1035, section 5.1).
 *
 * @returns null when the text is not written so; it then stands for itself alone
 */
export function unquotedText(text: string): string | null {
  const trimmed = text.trim();
  if (!WRITTEN.test(trimmed)) return null;
  const pieces = [...trimmed.matchAll(PIECE)].map(([, piece = '']) => bytesOf(piece));
  return Buffer.concat(pieces).toString('utf8');
}

/**
 * Matches the whole text, so that a quote in the middle of a text is no syntax. The expression looks at each
 * character once.
 */
const WRITTEN = /^"(?:[^"\\]|\\\d{3}|\\\D)*"(?:\s+"(?:[^"\\]|\\\d{3}|\\\D)*")*$/u;
const PIECE = /"((?:[^"\\]|\\\d{3}|\\\D)*)"/gu;

function bytesOf(piece: string): Buffer {
  const parts = piece.split(/(\\\d{3}|\\\D)/u).map((part) => {
    if (!part.startsWith('\\')) return Buffer.from(part);
    return part.length === 4 ? Buffer.from([Number(part.slice(1)) & 0xff]) : Buffer.from(part.slice(1));
  });
  return Buffer.concat(parts);
}
