/*
 * The alphabet of SMS (3GPP TS 23.038). A text with another character takes more than twice the room: 70
 * characters a segment in place of 160.
 */

const BASIC =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
/** These take two septets each. */
const EXTENDED = '^{}\\[~]|€';

const ONE: ReadonlySet<string> = new Set(BASIC);
const TWO: ReadonlySet<string> = new Set(EXTENDED);

/** Characters with a common form of their own. Others lose their marks, or become a question mark. */
const INSTEAD: Readonly<Record<string, string>> = {
  '…': '...',
  '–': '-',
  '—': '-',
  '‐': '-',
  '‑': '-',
  '−': '-',
  '⁄': '/',
  '‘': "'",
  '’': "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '«': '"',
  '»': '"',
  '`': "'",
  '\u00a0': ' ',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  œ: 'oe',
  Œ: 'OE',
  ı: 'i',
};

/** Characters that combine with the one before them and are not shown alone. */
const ATTACHED = /[\p{Mark}\p{Cf}\p{Emoji_Modifier}]/u;

/** The text in the alphabet of SMS. Characters that it has no form for become one question mark each. */
export function inGsm7(text: string): string {
  let result = '';
  for (const character of text.normalize('NFC')) result += formOf(character);
  return result;
}

function formOf(character: string): string {
  const known = knownForm(character);
  if (known !== null) return known;
  const parts = [...character.normalize('NFKD')];
  return parts.every((part) => knownForm(part) === null)
    ? '?'
    : parts.map((part) => knownForm(part) ?? '?').join('');
}

/** Null: the character has no form of its own. */
function knownForm(character: string): string | null {
  if (ONE.has(character) || TWO.has(character)) return character;
  return INSTEAD[character] ?? (ATTACHED.test(character) ? '' : null);
}

/** Whether a letter or a digit of the text has no form in the alphabet, so that a name would not be read any more. */
export function losesLetters(text: string): boolean {
  return [...text.normalize('NFC')].some(
    (character) => /[\p{L}\p{N}]/u.test(character) && formOf(character).includes('?'),
  );
}

/** The room that a text of the alphabet takes. */
export function septets(text: string): number {
  let count = 0;
  for (const character of text) count += TWO.has(character) ? 2 : 1;
  return count;
}
