/** A type, as Terraform writes it in JSON. */
export type ValueType =
  | 'string'
  | 'number'
  | 'bool'
  | ['list' | 'set' | 'map', ValueType]
  | ['object', Record<string, ValueType>];

/** Schemas as the plug-in answers them. */
export type SchemaAttribute = {
  readonly type: ValueType;
  readonly required: boolean;
  readonly optional: boolean;
  readonly computed: boolean;
  readonly sensitive: boolean;
  readonly writeOnly: boolean;
};

export type SchemaBlock = {
  readonly attributes: Readonly<Record<string, SchemaAttribute>>;
  readonly blocks: Readonly<Record<string, NestedBlock>>;
};

export type NestedBlock = SchemaBlock & { readonly minimum: number; readonly maximum: number };

export type ResourceSchema = SchemaBlock & { readonly version: bigint };

export type ProviderSchema = {
  readonly provider: ResourceSchema;
  readonly resources: Readonly<Record<string, ResourceSchema>>;
  readonly dataSources: Readonly<Record<string, ResourceSchema>>;
};

const NESTING_LIST = 2;

type WireAttribute = {
  name: string;
  type: Uint8Array;
  required?: boolean;
  optional?: boolean;
  computed?: boolean;
  sensitive?: boolean;
  writeOnly?: boolean;
};
type WireBlock = { attributes?: WireAttribute[]; blockTypes?: WireNestedBlock[] };
type WireNestedBlock = {
  typeName: string;
  block: WireBlock;
  nesting?: number;
  minItems?: bigint;
  maxItems?: bigint;
};
export type WireSchema = { version?: bigint; block: WireBlock };

/**
 * Reads a schema.
 *
 * @throws Error for a schema that Terraform refuses, or that this client does not know
 */
export function schemaOf({ version, block }: WireSchema): ResourceSchema {
  return { version: BigInt(version ?? 0), ...blockOf(block) };
}

function blockOf(block: WireBlock): SchemaBlock {
  const attributes = (block.attributes ?? []).map((attribute) => [attribute.name, attributeOf(attribute)]);
  const blocks = (block.blockTypes ?? []).map((nested) => [nested.typeName, nestedOf(nested)]);
  return { attributes: Object.fromEntries(attributes), blocks: Object.fromEntries(blocks) };
}

function attributeOf(wire: WireAttribute): SchemaAttribute {
  const { required = false, optional = false, computed = false, sensitive = false, writeOnly = false } = wire;
  if (required ? optional || computed : !optional && !computed) {
    throw new Error(`attribute ${wire.name}: must set Optional, Required or Computed, and Required alone`);
  }
  const type = JSON.parse(Buffer.from(wire.type).toString()) as ValueType;
  if (writeOnly && computed) throw new Error(`attribute ${wire.name}: WriteOnly cannot be Computed`);
  return { type, required, optional, computed, sensitive, writeOnly };
}

function nestedOf(nested: WireNestedBlock): NestedBlock {
  if (nested.nesting !== NESTING_LIST) throw new Error(`block ${nested.typeName}: nesting ${nested.nesting}`);
  return {
    ...blockOf(nested.block),
    minimum: Number(nested.minItems ?? 0),
    maximum: Number(nested.maxItems ?? 0),
  };
}
