import type { Diagnostic } from './diagnostic.ts';
import type { ObjectValue, Value } from './value.ts';
import type { Path } from './value-type.ts';
import type { ProviderSchema } from './wire-schema.ts';

/** Opaque to Terraform, handed back as it came. */
export type Private = Uint8Array;

export type Answer<T> = T & { readonly diagnostics: readonly Diagnostic[] };

/**
 * A provider as Terraform calls it, with unchecked values from the wire. Behind it is a process
 * (protocol-client.ts) or, in the tests of the rules, a few lines that break one of them.
 */
export interface Plugin {
  schema(): Promise<ProviderSchema>;
  validateProvider(config: ObjectValue): Promise<readonly Diagnostic[]>;
  configure(config: ObjectValue): Promise<readonly Diagnostic[]>;
  validateResource(type: string, config: ObjectValue): Promise<readonly Diagnostic[]>;
  validateData(type: string, config: ObjectValue): Promise<readonly Diagnostic[]>;
  upgrade(type: string, version: bigint, json: string): Promise<Answer<{ state: Value }>>;
  read(type: string, state: Value, kept: Private): Promise<Answer<{ state: Value; kept: Private }>>;
  plan(
    type: string,
    request: { prior: Value; proposed: Value; config: Value; kept: Private },
  ): Promise<Answer<{ planned: Value; replaces: readonly Path[]; kept: Private }>>;
  apply(
    type: string,
    request: { prior: Value; planned: Value; config: Value; kept: Private },
  ): Promise<Answer<{ state: Value; kept: Private }>>;
  import(type: string, id: string): Promise<Answer<{ imported: readonly Imported[] }>>;
  readData(type: string, config: ObjectValue): Promise<Answer<{ state: Value }>>;
  /** Ctrl-C. */
  stop(): Promise<void>;
  /** Resolves when it has ended. */
  close(): Promise<void>;
}

export type Imported = { readonly type: string; readonly state: Value; readonly kept: Private };
