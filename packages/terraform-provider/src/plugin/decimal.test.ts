import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ExactNumber } from '../value.ts';
import { numberFromBigint, numberFromDouble, numberFromText, wireNumber } from './decimal.ts';

describe('a text becomes a number if nothing is lost', () => {
  test.each([
    ['0', 0],
    ['-0', 0],
    ['0.1', 0.1],
    ['1.50', 1.5],
    ['1e3', 1000],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['-12.25', -12.25],
  ])('%s is %d', (text, expected) => expect(numberFromText(text)).toBe(expected));

  test.each([
    '9007199254740993',
    '18446744073709551616',
    '0.1000000000000000055511151231257827',
    '1e400',
    '1e-400',
  ])('%s stays as it is written', (text) => expect(numberFromText(text)).toEqual(new ExactNumber(text)));

  test.each(['', 'abc', '0x10', 'Infinity', '1_000', ' 1', '1.'])('%j is no number', (text) =>
    expect(numberFromText(text)).toBeNull(),
  );
});

test('a text of thousands of digits is no number', () => {
  expect(numberFromText('1'.repeat(5_000))).toBeNull();
});

describe('on the wire as go-cty writes it', () => {
  test.each<[number | ExactNumber, number | bigint | string]>([
    [0, 0],
    [-0, 0],
    [2 ** 31 - 1, 2 ** 31 - 1],
    [2 ** 40, 2n ** 40n],
    [-(2 ** 40), -(2n ** 40n)],
    [0.5, 0.5],
    [0.1, '0.1'],
    [new ExactNumber('9223372036854775807'), 2n ** 63n - 1n],
    [new ExactNumber('9223372036854775808'), '9223372036854775808'],
    [1e21, '1000000000000000000000'],
    [1e-7, '0.0000001'],
    [new ExactNumber('18446744073709551617'), '18446744073709551617'],
  ])('%o is %o', (value, expected) => expect(wireNumber(value)).toBe(expected));

  test('NaN is refused', () => expect(() => wireNumber(Number.NaN)).toThrow(RangeError));
});

test('a double of Terraform has its exact value', () => {
  expect(numberFromDouble(0.5)).toBe(0.5);
  expect(numberFromDouble(0.1)).toEqual(
    new ExactNumber('0.1000000000000000055511151231257827021181583404541015625'),
  );
});

/** Reads what {@link wireNumber} wrote, as Terraform's own answer would be read. */
function read(wire: number | bigint | string): number | ExactNumber | null {
  if (typeof wire === 'bigint') return numberFromBigint(wire);
  return typeof wire === 'string' ? numberFromText(wire) : numberFromDouble(wire);
}

test('every number comes back as it was', () => {
  const number = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer());
  fc.assert(
    fc.property(number, (value) => {
      expect(Number(textOf(read(wireNumber(value))))).toBe(value + 0);
    }),
  );
});

test('every decimal text means the same after a round trip', () => {
  const text = fc
    .tuple(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), fc.nat(20))
    .map(([units, scale]) => decimalText(units, scale));
  fc.assert(
    fc.property(text, (written) => {
      const value = numberFromText(written)!;
      expect(canonical(textOf(read(wireNumber(value))))).toBe(canonical(written));
    }),
  );
});

function textOf(value: number | ExactNumber | null): string {
  return value instanceof ExactNumber ? value.text : String(value);
}

function decimalText(units: bigint, scale: number): string {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  return `${units < 0n ? '-' : ''}${whole}${scale === 0 ? '' : `.${digits.slice(-scale)}`}`;
}

/**
 * The decimal text of a number without an exponent or zeros at its ends. It only moves digits of the text, so
 * it does not depend on the code under test.
 */
function canonical(text: string): string {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const point = whole.length + Number(power);
  const digits = (whole + fraction).padEnd(point, '0');
  const padded = point > 0 ? digits : '0'.repeat(1 - point) + digits;
  const at = Math.max(point, 1);
  const before = padded.slice(0, at).replace(/^0+(?=\d)/, '');
  const after = padded.slice(at).replace(/0+$/, '');
  const value = after === '' ? before : `${before}.${after}`;
  return mantissa.startsWith('-') && value !== '0' ? `-${value}` : value;
}
