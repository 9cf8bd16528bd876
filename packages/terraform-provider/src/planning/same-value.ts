import type { ValueType } from '../schema.ts';
import { ExactNumber, isObject, type TerraformValue, UNKNOWN } from '../value.ts';

/**
 * Whether Terraform treats two values of a type as equal: sets in any order, numbers
 * by their decimal value. A value that is unknown, even in part, equals no value.
 */
export function sameValue(type: ValueType, one: TerraformValue, other: TerraformValue): boolean {
  if (hasUnknown(one) || hasUnknown(other)) return false;
  return canonical(type, one) === canonical(type, other);
}

/** Whether a value or a member of it, at any depth, is unknown. */
export function hasUnknown(value: TerraformValue): boolean {
  if (value === UNKNOWN) return true;
  if (Array.isArray(value)) return value.some(hasUnknown);
  return isObject(value) && Object.values(value).some(hasUnknown);
}

/** A text that is the same for all values that Terraform treats as equal. */
function canonical(type: ValueType, value: TerraformValue): string {
  if (value === null) return 'null';
  if (typeof value === 'number' || value instanceof ExactNumber) return canonicalDecimal(value);
  if (Array.isArray(value)) {
    const texts = value.map((member) => canonical(memberType(type), member));
    return `[${(type[0] === 'set' ? texts.sort() : texts).join()}]`;
  }
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(memberType(type, name), value[name] ?? null)}`);
  return `{${members.join()}}`;
}

/**
 * The type of a member. If the value does not fit its type,
 * its members get a type too, so that the text is stable.
 */
function memberType(type: ValueType, name = ''): ValueType {
  if (typeof type === 'string') return type;
  return type[0] === 'object' ? (type[1][name] ?? 'string') : type[1];
}

/**
 * Writes a number as a whole number without zeros at its end and a power of ten: `12e-1` for 1.2 and 1.20.
 */
function canonicalDecimal(number: number | ExactNumber): string {
  const text = number instanceof ExactNumber ? number.text : String(number);
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^[+]?(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  const exponent = Number(power) - fraction.length + digits.length - significant.length;
  return `${sign}${significant}e${exponent}`;
}
