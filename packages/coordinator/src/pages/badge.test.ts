import { expect, test } from 'vitest';
import { textWidth } from './badge.ts';

test.each([
  ['combining marks', 'Cafe\u0301', 'Cafe'],
  ['vowel signs of Devanagari', 'स्थि', 'सथ'],
  ['marks of Arabic', 'حَالَة', 'حالة'],
  ['a joiner that is not seen', 'a\u200db', 'a'],
  ['an emoji of several characters', '\u{1F468}\u200d\u{1F469}\u200d\u{1F467}', '\u{1F468}'],
  ['an emoji with a colour of skin', '\u{1F44D}\u{1F3FD}', '\u{1F44D}'],
  ['marks of direction', '\u200eOps\u200f', 'Ops'],
])('%s take no room of their own', (_, text, asWideAs) => {
  expect(textWidth(text)).toBe(textWidth(asWideAs));
});

test('letters of different width differ', () => {
  expect(textWidth('mmm')).toBeGreaterThan(textWidth('iii'));
  expect(textWidth('監視')).toBe(22);
});
