import { randomUUID } from 'node:crypto';
import type { ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { DEFINITIONS } from '@svc/shared/resources/registry.ts';
import { planResource } from '@svc/terraform-provider/planning/plan.ts';
import { resourceSchema } from '@svc/terraform-provider/planning/resource-schema.ts';
import { validateConfig } from '@svc/terraform-provider/planning/validate.ts';
import type { ManagedResource, Outcome, Provider } from '@svc/terraform-provider/provider.ts';
import { PROVIDER_SCHEMA } from '@svc/terraform-provider/provider-settings.ts';
import type { Schema, ValueType } from '@svc/terraform-provider/schema.ts';
import { type TerraformObject, type TerraformValue, UNKNOWN } from '@svc/terraform-provider/value.ts';

/**
 * The resources of svc, planned and checked as in svc, but without a service. Terraform's state is the only
 * copy of an object: a create makes up the computed values, a read answers the state, and nothing is stored.
 * It is the least that a provider with these resources can do, and the baseline for measuring svc's provider.
 */
export function memoryProvider(): Provider {
  return {
    schema: PROVIDER_SCHEMA,
    resources: Object.fromEntries(
      Object.entries(DEFINITIONS).map(([kind, definition]) => [kind, memoryResource(definition)]),
    ),
    dataSources: {},
    validate: () => [],
    configure: () => [],
    stop: () => {},
  };
}

function memoryResource(definition: ResourceDefinition): ManagedResource {
  const schema = resourceSchema(definition);
  const outcome = (state: TerraformObject | null): Promise<Outcome> =>
    Promise.resolve({ state, diagnostics: [] });
  return {
    schema,
    validate: (config, client) => validateConfig(definition, config, client),
    plan: (request) => planResource(definition, request),
    creatable: () => Promise.resolve([]),
    create: (planned) => outcome(madeUp(schema, planned)),
    read: outcome,
    update: (_prior, planned) => outcome(madeUp(schema, planned)),
    remove: () => outcome(null),
    import: (id) => ({ state: madeUp(schema, { id }), diagnostics: [] }),
  };
}

/** Some value of the right type for everything that only the service would know. */
export function madeUp(schema: Schema, planned: TerraformObject): TerraformObject {
  return Object.fromEntries(
    Object.entries(planned).map(([name, value]): [string, TerraformValue] => {
      if (value !== UNKNOWN) return [name, value];
      return [name, name === 'id' ? randomUUID() : SOME[kindOf(schema.attributes[name]?.type)]];
    }),
  );
}

const SOME = { string: 'made up', number: 0, bool: false, list: [], set: [], map: {}, object: null } as const;

function kindOf(type: ValueType | undefined): keyof typeof SOME {
  if (type === undefined) return 'list';
  return typeof type === 'string' ? type : type[0];
}
