import protobuf from 'protobufjs';

/**
 * The messages of plug-in protocol 6 that this client speaks, written from the published numbering of
 * its fields.
 */
const DEFINITION = `
syntax = "proto3";
package tfplugin6;
message DynamicValue { bytes msgpack = 1; bytes json = 2; }
message Step { oneof selector { string attribute_name = 1; string element_key_string = 2; int64 element_key_int = 3; } }
message AttributePath { repeated Step steps = 1; }
message Diagnostic { int32 severity = 1; string summary = 2; string detail = 3; AttributePath attribute = 4; }
message Attribute {
  string name = 1; bytes type = 2; string description = 3; bool required = 4; bool optional = 5; bool computed = 6;
  bool sensitive = 7; int32 description_kind = 8; bool deprecated = 9; bool write_only = 11;
}
message NestedBlock { string type_name = 1; Block block = 2; int32 nesting = 3; int64 min_items = 4; int64 max_items = 5; }
message Block {
  int64 version = 1; repeated Attribute attributes = 2; repeated NestedBlock block_types = 3; string description = 4;
  int32 description_kind = 5; bool deprecated = 6;
}
message Schema { int64 version = 1; Block block = 2; }
message ServerCapabilities { bool plan_destroy = 1; bool get_provider_schema_optional = 2; bool move_resource_state = 3; }
message ClientCapabilities { bool deferral_allowed = 1; bool write_only_attributes_allowed = 2; }
message Empty {}
message SchemaAnswer {
  Schema provider = 1; map<string, Schema> resource_schemas = 2; map<string, Schema> data_source_schemas = 3;
  repeated Diagnostic diagnostics = 4; Schema provider_meta = 5; ServerCapabilities server_capabilities = 6;
}
message ResourceConfig { string type_name = 1; DynamicValue config = 2; ClientCapabilities client_capabilities = 3; }
message Diagnostics { repeated Diagnostic diagnostics = 1; }
message Configure { string terraform_version = 1; DynamicValue config = 2; ClientCapabilities client_capabilities = 3; }
message ReadData { string type_name = 1; DynamicValue config = 2; DynamicValue provider_meta = 3; ClientCapabilities client_capabilities = 4; }
message ReadDataAnswer { DynamicValue state = 1; repeated Diagnostic diagnostics = 2; }
`;

const ROOT = protobuf.parse(DEFINITION).root;

/** Requests and answers by method; the method's path on the wire follows from its name. */
const METHODS = {
  GetProviderSchema: ['Empty', 'SchemaAnswer'],
  ValidateResourceConfig: ['ResourceConfig', 'Diagnostics'],
  ConfigureProvider: ['Configure', 'Diagnostics'],
  ReadDataSource: ['ReadData', 'ReadDataAnswer'],
  Shutdown: ['Empty', 'Empty'],
} as const;

export type Method = keyof typeof METHODS;

export function pathOf(method: Method): string {
  return method === 'Shutdown' ? '/plugin.GRPCController/Shutdown' : `/tfplugin6.Provider/${method}`;
}

export function encodeRequest(method: Method, message: object): Buffer {
  const type = ROOT.lookupType(`tfplugin6.${METHODS[method][0]}`);
  return Buffer.from(type.encode(type.fromObject(message)).finish());
}

export function decodeAnswer(method: Method, bytes: Uint8Array): unknown {
  const type = ROOT.lookupType(`tfplugin6.${METHODS[method][1]}`);
  return type.toObject(type.decode(bytes), { longs: String, arrays: true });
}
