import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MOST_KEYS, MOST_LEVELS, MOST_VALUES, wrongInJson } from './json-scan.ts';

const keys = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`;

test.each([
  ['{"a":1,"b":{"a":1}}', null],
  ['{"a":1,"a":2}', 'the body has a key twice: "a"'],
  ['{"a":1,"\\u0061":2}', 'the body has a key twice: "a"'],
  ['[{"a":{"b":1,"c":[1,2],"b":2}}]', 'the body has a key twice: "b"'],
  ['{"a":"x\\"a\\":","b":"\\\\","c":1}', null],
  ['{"a":["a","a"],"b":"a"}', null],
  ['{"__proto__":1}', 'the body has the key "__proto__", which no resource has'],
  ['{"\\u005f_proto__":1}', 'the body has the key "__proto__", which no resource has'],
  ['"__proto__"', null],
  ['[]', null],
  [`${'['.repeat(MOST_LEVELS)}${']'.repeat(MOST_LEVELS)}`, null],
  [`${'['.repeat(MOST_LEVELS + 1)}${']'.repeat(MOST_LEVELS + 1)}`, /nested more than 32/],
  [keys(MOST_KEYS), null],
  [keys(MOST_KEYS + 1), /more than 1000 keys/],
  [`[${'1,'.repeat(MOST_VALUES)}1]`, null],
  [`[${'1,'.repeat(MOST_VALUES + 1)}1]`, /more than 150000 values/],
])('%#', (text, expected) => {
  const wrong = wrongInJson(text);
  if (expected instanceof RegExp) expect(wrong).toMatch(expected);
  else expect(wrong).toBe(expected);
});

test('what JSON.stringify writes has nothing wrong', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const text = JSON.stringify(value);
      fc.pre(!text.includes('__proto__'));
      expect(wrongInJson(text)).toBeNull();
    }),
  );
});
