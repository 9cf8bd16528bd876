import type { Message, MessageName } from './messages.ts';

type Method = { readonly request: MessageName; readonly response: MessageName };

/**
 * The calls of `tfplugin6.Provider` that the provider answers. All other calls (functions,
 * ephemeral resources, moved state, identities, lists, actions) are answered with
 * "unimplemented", which tells Terraform and OpenTofu that the provider does not support them.
 */
export const METHODS = {
  GetMetadata: { request: 'Empty', response: 'MetadataResponse' },
  GetProviderSchema: { request: 'Empty', response: 'SchemaResponse' },
  ValidateProviderConfig: { request: 'ValidateProviderRequest', response: 'ValidateProviderResponse' },
  ValidateResourceConfig: { request: 'ValidateRequest', response: 'Diagnostics' },
  ValidateDataResourceConfig: { request: 'ValidateRequest', response: 'Diagnostics' },
  ConfigureProvider: { request: 'ConfigureRequest', response: 'Diagnostics' },
  StopProvider: { request: 'Empty', response: 'StopResponse' },
  UpgradeResourceState: { request: 'UpgradeRequest', response: 'UpgradeResponse' },
  ReadResource: { request: 'ReadRequest', response: 'ReadResponse' },
  PlanResourceChange: { request: 'PlanRequest', response: 'PlanResponse' },
  ApplyResourceChange: { request: 'ApplyRequest', response: 'ApplyResponse' },
  ImportResourceState: { request: 'ImportRequest', response: 'ImportResponse' },
  ReadDataSource: { request: 'ReadDataRequest', response: 'ReadDataResponse' },
} as const satisfies Readonly<Record<string, Method>>;

export type MethodName = keyof typeof METHODS;

export type Request<M extends MethodName> = Message<(typeof METHODS)[M]['request']>;
export type Response<M extends MethodName> = Message<(typeof METHODS)[M]['response']>;

/** Answers the calls. None of the methods rejects: errors become diagnostics in the response. */
export type Calls = { readonly [M in MethodName]: (request: Request<M>) => Promise<Response<M>> };
