export type AttributeValue = string | number | boolean;

/** Attributes of a point, with what the encoders make of them: it is the same for every export. */
export class Attributes {
  readonly list: readonly (readonly [name: string, value: AttributeValue])[];
  /** Set by the encoder of JSON: the members of the list. */
  json: string | null = null;
  /** Set by the encoder of protobuf: the fields of `KeyValue`, each without tag and length. */
  protobuf: readonly Uint8Array[] | null = null;

  constructor(list: Attributes['list']) {
    this.list = list;
  }

  with(...more: readonly (readonly [name: string, value: AttributeValue])[]): Attributes {
    return new Attributes([...this.list, ...more]);
  }
}
