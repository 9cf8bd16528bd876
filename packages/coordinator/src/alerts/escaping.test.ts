import { expect, test } from 'vitest';
import { addressIn, inForms, type TextForms } from './escaping.ts';

const FORMS: TextForms = {
  text: (text) => text.toUpperCase(),
  link: (address, target) => `[${address}](${target})`,
  address: (address) => `(${address})`,
};

test.each([
  ['no address', 'NO ADDRESS'],
  ['see https://a.example/b_c, please', 'SEE [https://a.example/b_c](https://a.example/b_c), PLEASE'],
  ['is it https://a.example/b?', 'IS IT [https://a.example/b](https://a.example/b)?'],
  ['(https://a.example/b).', '([https://a.example/b](https://a.example/b)).'],
  ['https://a.example/b_(c)', '[https://a.example/b_(c)](https://a.example/b_(c))'],
  ['“https://a.example/b” x', '“[https://a.example/b](https://a.example/b)” X'],
  ['"https://a.example/b" x', '"[https://a.example/b](https://a.example/b)" X'],
  ['<https://a.example/b|x>', '<[https://a.example/b|x](https://a.example/b|x)>'],
  [
    'https://a.example https://b.example',
    '[https://a.example](https://a.example) [https://b.example](https://b.example)',
  ],
  ['HTTPS://A.example', '[HTTPS://A.example](HTTPS://A.example)'],
  // These texts contain no address that can be a link: it is shortened, masked, not valid, or not http(s).
  ['https://a.example/b…', '(https://a.example/b…)'],
  ['https://a.example/?… x', '(https://a.example/?…) X'],
  ['https://... x', '(https://)... X'],
  ['ftp://a.example', 'FTP://A.EXAMPLE'],
])('%s', (text, formed) => {
  expect(inForms(FORMS, text)).toBe(formed);
});

test.each([
  ['https://a.example/b.', '[https://a.example/b.](https://a.example/b.)'],
  ['https://a.example/<b> "c', '[https://a.example/<b> "c](https://a.example/%3Cb%3E%20%22c)'],
  ['a_b.example:5432', '(a_b.example:5432)'],
])('a text that is one address: %s', (text, formed) => {
  expect(addressIn(FORMS, text)).toBe(formed);
});

test('an address is found before any number of punctuation marks and brackets', () => {
  const end = ').'.repeat(25_000);
  expect(inForms(FORMS, `https://a.example/b${end}`)).toBe(
    `[https://a.example/b](https://a.example/b)${end}`,
  );
});
