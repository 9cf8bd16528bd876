import { ExactNumber } from '../value.ts';

/**
 * Numbers of Terraform are decimals of any length. Here a JavaScript number means the
 * decimal number that its shortest text expresses (0.1 is one tenth, not the double
 * next to it). A number that no such text expresses exactly is an {@link ExactNumber}.
 */

/**
 * A number for the MessagePack encoder. A whole number outside the safe range is a bigint or a string, not a
 * `number`.
 */
export type WireNumber = number | bigint | string;

/** A decimal number: units × 10^exponent. `units` is not divisible by ten, unless it is zero. */
type Decimal = { readonly units: bigint; readonly exponent: number };

const DECIMAL = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,9}))?$/;

/**
 * Maximum length of the text of a number, characters. A double has at most 767 significant digits, and
 * Terraform computes with 512 bits.
 */
const MAXIMUM_DIGITS = 4_096;

/** Parses a number; null: the text is not a number, or is longer than {@link MAXIMUM_DIGITS}. */
export function numberFromText(text: string): number | ExactNumber | null {
  const exact = parse(text);
  if (exact === null) return null;
  const nearest = Number(text);
  const shortest = Number.isFinite(nearest) ? parse(String(nearest)) : null;
  // `+ 0` turns -0 into 0, because Terraform has no -0.
  return shortest !== null && isSame(shortest, exact) ? nearest + 0 : new ExactNumber(text);
}

export function numberFromBigint(value: bigint): number | ExactNumber {
  const nearest = Number(value);
  return Number.isSafeInteger(nearest) ? nearest : (numberFromText(String(value)) as number | ExactNumber);
}

/** Converts a double from Terraform by its exact value: the double 0.1 is not one tenth. */
export function numberFromDouble(value: number): number | ExactNumber {
  if (Number.isSafeInteger(value)) return value + 0;
  if (!Number.isFinite(value)) return value;
  const exact = exactly(value);
  return isSame(exact, parse(String(value))) ? value : new ExactNumber(textOf(exact));
}

/**
 * Converts a number for the wire. A whole number of 64 bits stays whole, a fraction becomes a double if the
 * double is exact, and any other number becomes decimal text.
 *
 * @throws RangeError for NaN, which Terraform does not have, and for a text that is not a decimal number
 */
export function wireNumber(value: number | ExactNumber): WireNumber {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return isSmall(value) ? value + 0 : BigInt(value);
    if (Number.isNaN(value)) throw new RangeError('NaN is not a number of Terraform');
    if (!Number.isFinite(value)) return value;
  }
  const text = typeof value === 'number' ? String(value) : value.text;
  const exact = parse(text);
  if (exact === null) throw new RangeError('a number is not decimal');
  const written = typeof value === 'number' ? textOf(exact) : text;
  if (exact.exponent >= 0) return integer64(exact) ?? written;
  const nearest = Number(text);
  return isSame(exactly(nearest), exact) ? nearest : written;
}

function integer64({ units, exponent }: Decimal): bigint | null {
  if (exponent > 18) return null;
  const whole = units * 10n ** BigInt(exponent);
  return BigInt.asIntN(64, whole) === whole ? whole : null;
}

/**
 * Whether the encoder writes a `number` of this size as a MessagePack integer. A larger whole number must be
 * a bigint, so that it is written as an integer.
 */
function isSmall(value: number): boolean {
  return Math.abs(value) < 2 ** 31;
}

function parse(text: string): Decimal | null {
  const match = text.length > MAXIMUM_DIGITS ? null : DECIMAL.exec(text);
  if (match === null) return null;
  const [, sign, whole = '', fraction = '', power = '0'] = match;
  const units = BigInt(whole + fraction);
  return normalized({ units: sign === '-' ? -units : units, exponent: Number(power) - fraction.length });
}

function normalized({ units, exponent }: Decimal): Decimal {
  if (units === 0n) return { units, exponent: 0 };
  let left = units;
  let shifted = exponent;
  while (left % 10n === 0n) {
    left /= 10n;
    shifted += 1;
  }
  return { units: left, exponent: shifted };
}

function isSame(a: Decimal, b: Decimal | null): boolean {
  return b !== null && a.units === b.units && a.exponent === b.exponent;
}

/** The exact value of a finite double, mantissa × 2^power. In decimal, 2^-n is 5^n × 10^-n. */
function exactly(value: number): Decimal {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const raw = bits.getBigUint64(0);
  const biased = Number((raw >> 52n) & 0x7ffn);
  const fraction = raw & 0xfffffffffffffn;
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n);
  const power = (biased === 0 ? 1 : biased) - 1075;
  const signed = value < 0 ? -mantissa : mantissa;
  return power >= 0
    ? normalized({ units: signed << BigInt(power), exponent: 0 })
    : normalized({ units: signed * 5n ** BigInt(-power), exponent: power });
}

/** The decimal text without an exponent, as Terraform writes its numbers. */
function textOf({ units, exponent }: Decimal): string {
  const digits = String(units < 0n ? -units : units);
  const sign = units < 0n ? '-' : '';
  if (exponent >= 0) return sign + digits + '0'.repeat(exponent);
  const padded = digits.padStart(1 - exponent, '0');
  return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent)}`;
}
