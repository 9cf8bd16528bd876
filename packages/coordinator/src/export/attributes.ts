export type AttributeValue = string | number | boolean;

export type AttributeList = readonly (readonly [name: string, value: AttributeValue])[];

/** Attributes that many points share, with what the encoders make of them: it is the same for every export. */
export class Attributes {
  readonly #list: AttributeList;
  /** Set by the encoder of JSON: the members of the list, with a comma before each. */
  json: Uint8Array | null = null;
  /** Set by the encoder of protobuf: its fields, by the number that they have in their message. */
  readonly protobuf: Uint8Array[] = [];

  constructor(list: AttributeList) {
    this.#list = list;
  }

  get list(): AttributeList {
    return this.#list;
  }
}

export const NO_ATTRIBUTES = new Attributes([]);
