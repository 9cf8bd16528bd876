/*
 * GSM-7, the alphabet of SMS (3GPP TS 23.038). An SMS of one segment holds 160 septets if the whole
 * text is in this alphabet, but only 70 UTF-16 code units if the text has any other character.
 */

const BASIC =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
/** Characters of GSM-7 that take two septets each. */
const EXTENDED = '^{}\\[~]|€';

const ONE: ReadonlySet<string> = new Set(BASIC);
const TWO: ReadonlySet<string> = new Set(EXTENDED);

/**
 * Replacements for common characters that GSM-7 does not have. Any other such
 * character is replaced by its parts (NFKD) that GSM-7 has, or by a question mark.
 */
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

/** Characters that modify the character before them, or are invisible. They are left out. */
const ATTACHED = /[\p{Mark}\p{Cf}\p{Emoji_Modifier}]/u;

/** Returns the text in GSM-7. A character becomes one question mark if GSM-7 can represent none of its parts. */
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

/**
 * The character itself if the alphabet has it, otherwise its
 * replacement, which may be empty; null: there is no replacement.
 */
function knownForm(character: string): string | null {
  if (ONE.has(character) || TWO.has(character)) return character;
  return INSTEAD[character] ?? (ATTACHED.test(character) ? '' : null);
}

/**
 * Whether GSM-7 cannot represent a letter or a digit of the text. With question
 * marks in place of such characters, a name would be unreadable.
 */
export function losesLetters(text: string): boolean {
  return [...text.normalize('NFC')].some(
    (character) => /[\p{L}\p{N}]/u.test(character) && formOf(character).includes('?'),
  );
}

/** The length of a GSM-7 text, in septets. */
export function septets(text: string): number {
  let count = 0;
  for (const character of text) count += TWO.has(character) ? 2 : 1;
  return count;
}
