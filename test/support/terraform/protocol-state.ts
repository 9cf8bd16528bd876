import type { CheckedPlugin, Held, ResourcePlan } from './checked-plugin.ts';
import { decodedBody } from './configuration.ts';
import type { Declared } from './declarations.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { Private } from './plugin.ts';
import type { Change } from './runner.ts';
import { stateJson, type Value } from './value.ts';

/** An object in the state, as Terraform keeps it between runs. */
export type Stored = {
  readonly json: string;
  readonly version: bigint;
  readonly kept: Private;
  readonly isTainted: boolean;
  readonly dependencies: readonly string[];
  readonly createsFirst: boolean;
};

/** What is to be done with one declared resource. */
export type Step = { readonly declared: Declared; readonly plan: ResourcePlan };

export type WholePlan = {
  readonly held: ReadonlyMap<string, Held>;
  readonly steps: ReadonlyMap<string, Step>;
  readonly removed: readonly string[];
  /** Data sources that could be read already. */
  readonly data: ReadonlyMap<string, Value>;
  readonly changes: readonly Change[];
  readonly diagnostics: readonly Diagnostic[];
};

export function linksOf({
  dependencies,
  createsFirst,
}: Declared): Pick<Stored, 'dependencies' | 'createsFirst'> {
  return { dependencies, createsFirst };
}

export function inOrderOf<T>(
  order: ReadonlyMap<string, unknown>,
  values: ReadonlyMap<string, T>,
): Map<string, T> {
  return new Map(
    [...order.keys()].flatMap((key) => (values.has(key) ? [[key, values.get(key)!] as const] : [])),
  );
}

export function located(diagnostics: readonly Diagnostic[], address: string): Diagnostic[] {
  return diagnostics.map((each) => ({ address, ...each }));
}

/** The object as the state keeps it. */
export function storedObject(
  plugin: CheckedPlugin,
  declared: Declared,
  { state, kept }: Held,
  isTainted = false,
): Stored {
  const { version } = plugin.resource(declared.type);
  return { json: stateJson(state), version, kept, isTainted, ...linksOf(declared) };
}

/** The body by its schema, judged by the provider. */
export async function judgedBody(
  plugin: CheckedPlugin,
  { mode, type, body, address }: Declared,
  scope: (address: string) => Value,
) {
  const schema = mode === 'data' ? plugin.data(type) : plugin.resource(type);
  const config = decodedBody(body, schema, scope);
  const judged =
    mode === 'data' ? await plugin.validateData(type, config) : await plugin.validateResource(type, config);
  return { config, diagnostics: located(judged, address) };
}
