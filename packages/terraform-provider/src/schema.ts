/**
 * A type as Terraform writes it in JSON: `"string"`, `["set","string"]`, or
 * `["list",["object",{"key":"string"}]]`.
 */
export type ValueType =
  | 'string'
  | 'number'
  | 'bool'
  | readonly ['list' | 'set' | 'map', ValueType]
  | readonly ['object', Readonly<Record<string, ValueType>>];

/**
 * Who sets an attribute: the user must (`required`), the user may (`optional`), the provider
 * does (`computed`), or the provider does unless the user does (`optional-computed`).
 */
export type SetBy = 'required' | 'optional' | 'computed' | 'optional-computed';

export type SchemaAttribute = {
  readonly type: ValueType;
  readonly setting: SetBy;
  readonly sensitive: boolean;
  /** Whether the value exists only in the configuration. It is null in every plan and state. */
  readonly writeOnly?: boolean;
  /** Description in Markdown. */
  readonly description: string;
};

/** The nested blocks of one name. They are an ordered list of at most `maximumItems`. */
export type SchemaBlock = {
  readonly maximumItems: number;
  readonly description: string;
  readonly attributes: Readonly<Record<string, SchemaAttribute>>;
};

/** The attributes and blocks of a provider, resource or data source. */
export type Schema = {
  /** Version of the stored state. It increases when the shape of stored states changes. */
  readonly version: number;
  readonly description: string;
  readonly attributes: Readonly<Record<string, SchemaAttribute>>;
  readonly blocks: Readonly<Record<string, SchemaBlock>>;
};
