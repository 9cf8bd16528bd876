/** A value that Terraform knows only after an apply. A state never contains one. */
export const UNKNOWN: unique symbol = Symbol('unknown');

/**
 * A number that a JavaScript number would change: a whole number beyond 2^53, or one with more digits than a
 * double keeps. It can be passed on and compared; no attribute of svc accepts one.
 */
export class ExactNumber {
  /** Decimal, as Terraform wrote it. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * A decoded value of Terraform with its type. Lists and sets are arrays (the type says which), maps and
 * objects are plain objects. Objects have every attribute and block of their type: unset ones as null, absent
 * blocks as an empty array.
 */
export type TerraformValue =
  | null
  | boolean
  | string
  | number
  | ExactNumber
  | typeof UNKNOWN
  | readonly TerraformValue[]
  | TerraformObject;

export type TerraformObject = { readonly [name: string]: TerraformValue };

export function isObject(value: TerraformValue): value is TerraformObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}
