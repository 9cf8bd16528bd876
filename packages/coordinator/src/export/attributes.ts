export type AttributeValue = string | number | boolean;

/** Attributes of a point, with what the encoders make of them: it is the same for every export. */
export class Attributes {
  readonly list: readonly (readonly [name: string, value: AttributeValue])[];
  /** Set by the encoder of JSON: the beginning of a point. */
  json: Uint8Array | null = null;
  /** Set by the encoder of protobuf: its fields in a message where they have this number. */
  protobuf: { readonly field: number; readonly bytes: Uint8Array } | null = null;

  constructor(list: Attributes['list']) {
    this.list = list;
  }

  with(...more: readonly (readonly [name: string, value: AttributeValue])[]): Attributes {
    return new Attributes([...this.list, ...more]);
  }
}
