/** A type as Terraform writes it in JSON: `"string"`, `["set","string"]`, `["list",["object",{"key":"string"}]]`. */
export type ValueType =
  | 'string'
  | 'number'
  | 'bool'
  | readonly ['list' | 'set' | 'map', ValueType]
  | readonly ['object', Readonly<Record<string, ValueType>>];

/** Who sets an attribute: the user must, the user may, the provider does, or the provider where the user does not. */
export type SetBy = 'required' | 'optional' | 'computed' | 'optional-computed';

export type SchemaAttribute = {
  readonly type: ValueType;
  readonly setting: SetBy;
  readonly sensitive: boolean;
  /** In the configuration alone: null in every plan and state. */
  readonly writeOnly?: boolean;
  /** Markdown. */
  readonly description: string;
};

/** Nested blocks are lists: repeatable in order, at most `maximumItems` times. */
export type SchemaBlock = {
  readonly maximumItems: number;
  readonly description: string;
  readonly attributes: Readonly<Record<string, SchemaAttribute>>;
};

/** What a provider, resource or data source consists of, as Terraform is told. */
export type Schema = {
  /** Of the stored state; grows when a stored shape changes. */
  readonly version: number;
  readonly description: string;
  readonly attributes: Readonly<Record<string, SchemaAttribute>>;
  readonly blocks: Readonly<Record<string, SchemaBlock>>;
};
