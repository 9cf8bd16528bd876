import fc from 'fast-check';
import { expect, test } from 'vitest';
import { numericAddress } from './numeric-address.ts';

test.each([
  ['127.1', '127.0.0.1'],
  ['127.0.1', '127.0.0.1'],
  ['10.258', '10.0.1.2'],
  ['2130706433', '127.0.0.1'],
  ['0x7f000001', '127.0.0.1'],
  ['0X7F.1', '127.0.0.1'],
  ['0177.0.0.1', '127.0.0.1'],
  ['0', '0.0.0.0'],
  ['4294967295', '255.255.255.255'],
])('%s is %s', (text, address) => {
  expect(numericAddress(text)).toBe(address);
});

test.each([
  '',
  '.',
  '4294967296',
  '256.1',
  '1.256.1',
  '1.2.3.256',
  '1.2.3.4.5',
  '1..2',
  '08',
  '0x',
  '-1',
  '1e3',
  'a',
  '1.a',
])('"%s" is none', (text) => {
  expect(numericAddress(text)).toBeNull();
});

test('every spelling of an address is that address', () => {
  const byte = fc.nat(255);
  const radix = fc.constantFrom(
    (part: number) => String(part),
    (part: number) => `0x${part.toString(16)}`,
    (part: number) => `0${part.toString(8)}`,
  );
  fc.assert(
    fc.property(
      fc.tuple(byte, byte, byte, byte),
      fc.integer({ min: 1, max: 4 }),
      radix,
      (bytes, count, spell) => {
        const last = bytes.slice(count - 1).reduce((sum, part) => sum * 256 + part, 0);
        const text = [...bytes.slice(0, count - 1), last].map(spell).join('.');
        expect(numericAddress(text)).toBe(bytes.join('.'));
      },
    ),
  );
});
