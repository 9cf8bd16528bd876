import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inGsm7, losesLetters, septets } from './gsm-7.ts';

test.each([
  [
    'characters of the alphabet stay, and ú is not one of them',
    'Größe: 5 € @ [x] Ñandú_',
    'Größe: 5 € @ [x] Ñandu_',
  ],
  ['letters lose marks that it does not have', 'ŝčřžý Łódź', 'scrzy Lodz'],
  ['a letter and a separate mark are combined first', 'u\u0308', 'ü'],
  ['typography becomes plain', '“a” – ‘b’…', '"a" - \'b\'...'],
  ['ligatures are spelled out', 'ﬁn ½', 'fin 1/2'],
  ['other scripts become question marks', '監視 Ж', '?? ?'],
  ['an emoji is one question mark', '\u{1F468}\u{1F3FD}\u200D!', '?!'],
  ['control characters become question marks', 'a\u0000b', 'a?b'],
])('%s', (_, text, expected) => {
  expect(inGsm7(text)).toBe(expected);
});

test.each([
  ['Größe Łódź 100 %', false],
  ['Shop \u{1F6D2} — “EU”', false],
  ['Магазин', true],
  ['API 監視', true],
  ['٣', true],
])('%s loses letters: %s', (text, loses) => {
  expect(losesLetters(text)).toBe(loses);
});

test('some characters take two septets', () => {
  expect(septets('a€[b]\n')).toBe(9);
});

test('any text is converted to the alphabet, and a second conversion changes nothing', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(0x10_ff_ff), { maxLength: 30 }), (points) => {
      const text = String.fromCodePoint(...points);
      const once = inGsm7(text);
      expect(once).toMatch(/^[@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ -Z¤¡ÄÖÑÜ§¿a-zäöñüà^{}\\[~\]|€]*$/);
      expect(inGsm7(once)).toBe(once);
    }),
  );
});
