/** The client's own coding of values, against another implementation of MessagePack. */
import { decode as decodeOther, ExtData, encode as encodeOther } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decode, encode } from '../../support/terraform/msgpack.ts';
import { Decimal, plain, UNKNOWN, type Value } from '../../support/terraform/value.ts';

const plainValue = fc.letrec((tie) => ({
  value: fc.oneof(
    fc.constant(null),
    fc.boolean(),
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc.integer(),
    fc.array(tie('value'), { maxLength: 20 }),
    fc.dictionary(
      fc.string({ maxLength: 40 }).filter((name) => name !== '__proto__'),
      tie('value'),
      { maxKeys: 18 },
    ),
  ),
}));

function valueOfPlain(value: unknown): Value {
  if (typeof value === 'number') return new Decimal(String(value));
  if (Array.isArray(value)) return value.map(valueOfPlain);
  if (typeof value !== 'object' || value === null) return value as Value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, valueOfPlain(member)]));
}

describe('values over the wire', () => {
  test('what is written is read elsewhere as the same, and the other way round', () => {
    fc.assert(
      fc.property(plainValue.value, (value) => {
        expect(decodeOther(encode(valueOfPlain(value)))).toEqual(value);
        expect(plain(decode(encodeOther(value)))).toEqual(value);
      }),
    );
  });

  test.each([
    ['0', '00'],
    ['127', '7f'],
    ['-1', 'd3ffffffffffffffff'],
    ['45000', 'd3000000000000afc8'],
    ['0.5', 'cb3fe0000000000000'],
    ['0.1', 'a3302e31'],
    ['18446744073709551616', 'b43138343436373434303733373039353531363136'],
  ])('the number %s is written as Terraform writes it', (text, hex) => {
    expect(encode(new Decimal(text)).toString('hex')).toBe(hex);
  });

  test.each([
    ['1e3', '1000'],
    ['1.50', '1.5'],
    ['-0', '0'],
    ['1.5e-7', '0.00000015'],
    ['12345678901234567890.10', '12345678901234567890.1'],
  ])('%s is the number %s', (text, same) => {
    expect(new Decimal(text).text).toBe(same);
  });

  test('unknown is an extension of type 0', () => {
    expect(encode(UNKNOWN).toString('hex')).toBe('d40000');
    expect(decode(encodeOther([new ExtData(0, new Uint8Array(1))]))).toEqual([UNKNOWN]);
    expect(() => decode(encodeOther(new ExtData(1, new Uint8Array(1))))).toThrow('no unknown value');
  });

  test('bytes that are cut short or too many are refused', () => {
    expect(() => decode(Buffer.from('a2', 'hex'))).toThrow('2 bytes announced, 0 left');
    expect(() => decode(Buffer.from('c0c0', 'hex'))).toThrow('1 bytes follow the value');
  });
});
