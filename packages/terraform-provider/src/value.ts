/** A value that Terraform knows only after an apply. A state never contains an unknown value. */
export const UNKNOWN: unique symbol = Symbol('unknown');

/**
 * A number that a JavaScript number would change: a whole number beyond
 * 2^53, or a number with more digits than a double keeps. The provider can
 * return and compare such a number, but no attribute of svc accepts one.
 */
export class ExactNumber {
  /** The number in decimal notation, as Terraform wrote it. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * A decoded value of Terraform. Lists and sets are arrays (the type says which),
 * maps and objects are plain objects. An object has every attribute and block of
 * its type: unset attributes are null, and absent blocks are empty arrays.
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
