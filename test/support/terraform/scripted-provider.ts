import type { ManagedResource, Outcome, Provider } from '@svc/terraform-provider/provider.ts';
import type { Schema } from '@svc/terraform-provider/schema.ts';
import type { TerraformObject } from '@svc/terraform-provider/value.ts';

const about = { sensitive: false, description: '' };

export const THING: Schema = {
  version: 1,
  description: '',
  attributes: {
    id: { ...about, type: 'string', setting: 'computed' },
    name: { ...about, type: 'string', setting: 'required' },
  },
  blocks: {
    parts: {
      maximumItems: 3,
      description: '',
      attributes: { key: { ...about, type: 'string', setting: 'required' } },
    },
  },
};

const SETTINGS: Schema = {
  version: 0,
  description: '',
  attributes: { token: { ...about, type: 'string', setting: 'optional', sensitive: true } },
  blocks: {},
};

export type Script = Partial<Omit<ManagedResource, 'schema'>>;

/**
 * A provider with one resource, `svc_thing`, and one data source of that name. A test decides their
 * behaviour.
 */
export function scriptedProvider(script: Script = {}, rest: Partial<Provider> = {}): Provider {
  const unscripted = (): never => {
    throw new Error('not part of this test');
  };
  const thing: ManagedResource = {
    schema: THING,
    validate: () => [],
    plan: unscripted,
    obstacles: () => Promise.resolve([]),
    create: unscripted,
    read: unscripted,
    update: unscripted,
    remove: unscripted,
    import: unscripted,
    ...script,
  };
  return {
    schema: SETTINGS,
    resources: { svc_thing: thing },
    dataSources: {
      svc_thing: {
        schema: THING,
        validate: (config) => thing.validate(config, { allowsWriteOnly: true }),
        read: (config) => thing.read(config),
      },
    },
    validate: () => [],
    configure: () => [],
    stop: () => {},
    ...rest,
  };
}

export function outcome(state: TerraformObject | null, ...diagnostics: Outcome['diagnostics']): Outcome {
  return { state, diagnostics };
}
