import protobuf from 'protobufjs/light.js';

/**
 * The messages of Terraform's plug-in protocol 6 that the provider uses, as a table. An entry
 * is `field: [number, type]`, with `list` or `map` (keys are strings) for a repeated field.
 * Only numbers and types are on the wire. The decoder skips a field that is not in this table.
 */
const MESSAGES = {
  Empty: {},
  DynamicValue: { msgpack: [1, 'bytes'], json: [2, 'bytes'] },
  RawState: { json: [1, 'bytes'] },
  Diagnostic: {
    severity: [1, 'int32'],
    summary: [2, 'string'],
    detail: [3, 'string'],
    attribute: [4, 'AttributePath'],
  },
  AttributePath: { steps: [1, 'Step', 'list'] },
  /** A step of a path. Exactly one of its fields is set. */
  Step: { attribute_name: [1, 'string'], element_key_string: [2, 'string'], element_key_int: [3, 'int64'] },

  Schema: { version: [1, 'int64'], block: [2, 'Block'] },
  Block: {
    version: [1, 'int64'],
    attributes: [2, 'Attribute', 'list'],
    block_types: [3, 'NestedBlock', 'list'],
    description: [4, 'string'],
    description_kind: [5, 'int32'],
  },
  Attribute: {
    name: [1, 'string'],
    type: [2, 'bytes'],
    description: [3, 'string'],
    required: [4, 'bool'],
    optional: [5, 'bool'],
    computed: [6, 'bool'],
    sensitive: [7, 'bool'],
    description_kind: [8, 'int32'],
    write_only: [11, 'bool'],
  },
  NestedBlock: {
    type_name: [1, 'string'],
    block: [2, 'Block'],
    nesting: [3, 'int32'],
    min_items: [4, 'int64'],
    max_items: [5, 'int64'],
  },
  ClientCapabilities: { write_only_attributes_allowed: [2, 'bool'] },
  ServerCapabilities: {
    plan_destroy: [1, 'bool'],
    get_provider_schema_optional: [2, 'bool'],
    move_resource_state: [3, 'bool'],
  },

  Diagnostics: { diagnostics: [1, 'Diagnostic', 'list'] },
  TypeName: { type_name: [1, 'string'] },
  MetadataResponse: {
    server_capabilities: [1, 'ServerCapabilities'],
    diagnostics: [2, 'Diagnostic', 'list'],
    data_sources: [3, 'TypeName', 'list'],
    resources: [4, 'TypeName', 'list'],
  },
  SchemaResponse: {
    provider: [1, 'Schema'],
    resource_schemas: [2, 'Schema', 'map'],
    data_source_schemas: [3, 'Schema', 'map'],
    diagnostics: [4, 'Diagnostic', 'list'],
    server_capabilities: [6, 'ServerCapabilities'],
  },
  ValidateProviderRequest: { config: [1, 'DynamicValue'] },
  ValidateProviderResponse: { diagnostics: [2, 'Diagnostic', 'list'] },
  /** Request to validate a resource or a data source. */
  ValidateRequest: {
    type_name: [1, 'string'],
    config: [2, 'DynamicValue'],
    client_capabilities: [3, 'ClientCapabilities'],
  },
  ConfigureRequest: { terraform_version: [1, 'string'], config: [2, 'DynamicValue'] },
  StopResponse: { Error: [1, 'string'] },
  UpgradeRequest: { type_name: [1, 'string'], version: [2, 'int64'], raw_state: [3, 'RawState'] },
  UpgradeResponse: { upgraded_state: [1, 'DynamicValue'], diagnostics: [2, 'Diagnostic', 'list'] },
  ReadRequest: { type_name: [1, 'string'], current_state: [2, 'DynamicValue'], private: [3, 'bytes'] },
  ReadResponse: {
    new_state: [1, 'DynamicValue'],
    diagnostics: [2, 'Diagnostic', 'list'],
    private: [3, 'bytes'],
  },
  PlanRequest: {
    type_name: [1, 'string'],
    prior_state: [2, 'DynamicValue'],
    proposed_new_state: [3, 'DynamicValue'],
    config: [4, 'DynamicValue'],
    prior_private: [5, 'bytes'],
  },
  PlanResponse: {
    planned_state: [1, 'DynamicValue'],
    requires_replace: [2, 'AttributePath', 'list'],
    planned_private: [3, 'bytes'],
    diagnostics: [4, 'Diagnostic', 'list'],
  },
  ApplyRequest: {
    type_name: [1, 'string'],
    prior_state: [2, 'DynamicValue'],
    planned_state: [3, 'DynamicValue'],
    config: [4, 'DynamicValue'],
    planned_private: [5, 'bytes'],
  },
  ApplyResponse: {
    new_state: [1, 'DynamicValue'],
    private: [2, 'bytes'],
    diagnostics: [3, 'Diagnostic', 'list'],
  },
  ImportRequest: { type_name: [1, 'string'], id: [2, 'string'] },
  ImportedResource: { type_name: [1, 'string'], state: [2, 'DynamicValue'], private: [3, 'bytes'] },
  ImportResponse: {
    imported_resources: [1, 'ImportedResource', 'list'],
    diagnostics: [2, 'Diagnostic', 'list'],
  },
  ReadDataRequest: { type_name: [1, 'string'], config: [2, 'DynamicValue'] },
  ReadDataResponse: { state: [1, 'DynamicValue'], diagnostics: [2, 'Diagnostic', 'list'] },

  HealthRequest: { service: [1, 'string'] },
  HealthResponse: { status: [1, 'int32'] },
} as const;

type Scalars = { bytes: Uint8Array; string: string; bool: boolean; int32: number; int64: number };

type FieldType<T> = T extends keyof Scalars ? Scalars[T] : T extends MessageName ? Message<T> : never;

type FieldValue<F> = F extends readonly [number, infer T, 'list']
  ? readonly FieldType<T>[]
  : F extends readonly [number, infer T, 'map']
    ? Readonly<Record<string, FieldType<T>>>
    : F extends readonly [number, infer T]
      ? FieldType<T>
      : never;

export type MessageName = keyof typeof MESSAGES;

/**
 * A message as an object. Protocol buffers leave out values that are zero, empty or absent, so every member
 * is optional.
 */
export type Message<N extends MessageName> = {
  readonly [F in keyof (typeof MESSAGES)[N]]?: FieldValue<(typeof MESSAGES)[N][F]> | undefined;
};

type Field = readonly [number, string, ('list' | 'map')?];

/**
 * The oneof of a `Step`. Protocol buffers write a zero in a member of a oneof, and leave out every other
 * zero.
 */
const STEP = { oneof: Object.keys(MESSAGES.Step) };

let types: protobuf.Namespace | undefined;

/** Returns a message type. All types are built at the first use, because the handshake needs no message. */
function typeOf(name: MessageName): protobuf.Type {
  types ??= protobuf.Root.fromJSON({
    options: { syntax: 'proto3' },
    nested: Object.fromEntries(
      Object.entries(MESSAGES).map(([message, fields]) => [
        message,
        { fields: fieldsOf(fields), ...(message === 'Step' && { oneofs: { selector: STEP } }) },
      ]),
    ),
  }).resolveAll();
  return types.lookupType(name);
}

function fieldsOf(fields: Readonly<Record<string, Field>>): Record<string, protobuf.IField> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, [id, type, repeated]]): [string, protobuf.IField] => {
      if (repeated === 'map') return [name, { id, type, keyType: 'string' } as protobuf.IMapField];
      return [name, repeated === 'list' ? { id, type, rule: 'repeated' } : { id, type }];
    }),
  );
}

/**
 * Encodes a message. Its strings must be well-formed: a lone surrogate would be written unchanged,
 * and Terraform refuses the whole answer because of one string that is not valid UTF-8.
 */
export function encodeMessage<N extends MessageName>(name: N, message: Message<N>): Buffer {
  return Buffer.from(typeOf(name).encode(message).finish());
}

/** @throws Error when the bytes are not a message of this type */
export function decodeMessage<N extends MessageName>(name: N, bytes: Uint8Array): Message<N> {
  const type = typeOf(name);
  return type.toObject(type.decode(bytes), { longs: Number }) as Message<N>;
}
