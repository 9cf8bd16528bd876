/**
 * Values as Terraform sees them, for a client of the plug-in protocol. This folder shares no wire code with
 * the provider, so that both sides cannot have the same error.
 */

class Unknown {
  readonly isUnknown = true;
}

/** Known only after an apply. */
export const UNKNOWN = new Unknown();

/** A number by its decimal text, without an exponent and without needless zeros. */
export class Decimal {
  readonly text: string;

  constructor(text: string) {
    const [, sign = '', whole = '', fraction = '', exponent = '0'] =
      /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? failed(text);
    const places = fraction.length - Number(exponent);
    const digits = `${whole}${fraction}`.padEnd(whole.length + fraction.length + Math.max(0, -places), '0');
    const padded = digits.padStart(Math.max(0, places) + 1, '0');
    const point = padded.length - Math.max(0, places);
    const before = padded.slice(0, point).replace(/^0+(?=\d)/, '');
    const after = padded.slice(point).replace(/0+$/, '');
    const plain = after === '' ? before : `${before}.${after}`;
    this.text = plain === '0' ? plain : `${sign}${plain}`;
  }

  /** Whole numbers only. */
  get isWhole(): boolean {
    return !this.text.includes('.');
  }
}

function failed(text: string): never {
  throw new Error(`not a decimal number: ${text}`);
}

/** Lists and sets are arrays, maps and objects are objects; the type tells them apart. */
export type Value = null | boolean | string | Decimal | Unknown | readonly Value[] | ObjectValue;
export type ObjectValue = { readonly [name: string]: Value };

export function isObjectValue(value: Value | undefined): value is ObjectValue {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !(value instanceof Decimal || value instanceof Unknown);
}

export function isWhollyKnown(value: Value): boolean {
  if (value === UNKNOWN) return false;
  if (Array.isArray(value)) return value.every(isWhollyKnown);
  return !isObjectValue(value) || Object.values(value).every(isWhollyKnown);
}

/** The value in JavaScript's form: numbers as numbers, unknown values as the text `(unknown)`. */
export function plain(value: Value): unknown {
  if (value === UNKNOWN) return '(unknown)';
  if (value instanceof Decimal) return Number(value.text);
  if (Array.isArray(value)) return value.map(plain);
  if (!isObjectValue(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

/** As Terraform stores it in a state: JSON with every digit of its numbers. */
export function stateJson(value: Value): string {
  if (value === UNKNOWN) throw new Error('an unknown value cannot be stored in a state');
  if (value instanceof Decimal) return value.text;
  if (Array.isArray(value)) return `[${value.map(stateJson).join(',')}]`;
  if (!isObjectValue(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${stateJson(member)}`,
  );
  return `{${members.join(',')}}`;
}
