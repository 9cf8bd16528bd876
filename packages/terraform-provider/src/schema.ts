/** A type as Terraform writes it in JSON: `"string"`, `["set","string"]`, `["list",["object",{"key":"string"}]]`. */
export type ValueType =
  | 'string'
  | 'number'
  | 'bool'
  | readonly ['list' | 'set' | 'map', ValueType]
  | readonly ['object', Readonly<Record<string, ValueType>>];

/**
 * Whether the user must set an attribute, the user may set it, the provider sets it, or the provider sets it
 * unless the user does.
 */
export type SetBy = 'required' | 'optional' | 'computed' | 'optional-computed';

export type SchemaAttribute = {
  readonly type: ValueType;
  readonly setting: SetBy;
  readonly sensitive: boolean;
  /** Only in the configuration: null in every plan and state. */
  readonly writeOnly?: boolean;
  /** Markdown. */
  readonly description: string;
};

/** Nested blocks are lists: they repeat in order, at most `maximumItems` times. */
export type SchemaBlock = {
  readonly maximumItems: number;
  readonly description: string;
  readonly attributes: Readonly<Record<string, SchemaAttribute>>;
};

/** The attributes and blocks of a provider, resource or data source. */
export type Schema = {
  /** Version of the stored state; it grows when a stored shape changes. */
  readonly version: number;
  readonly description: string;
  readonly attributes: Readonly<Record<string, SchemaAttribute>>;
  readonly blocks: Readonly<Record<string, SchemaBlock>>;
};
