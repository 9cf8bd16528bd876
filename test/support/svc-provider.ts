import type { ApiLimits, Retry } from '@svc/shared/api/client.ts';
import type { Diagnostic, ManagedResource, Outcome, Provider } from '@svc/terraform-provider/provider.ts';
import type { Schema } from '@svc/terraform-provider/schema.ts';
import { svcProvider } from '@svc/terraform-provider/svc-provider.ts';
import type { TerraformObject, TerraformValue } from '@svc/terraform-provider/value.ts';
import { expect } from 'vitest';
import { FakeClock } from './fake-clock.ts';

export type ProviderUnderTest = {
  readonly provider: Provider;
  /** Back-offs announced so far. */
  readonly retries: readonly Retry[];
  /** Resolves at the next back-off, which then lasts until the test moves the clock. */
  retry(): Promise<Retry>;
  readonly clock: FakeClock;
  resource(kind: string): ResourceUnderTest;
};

export type ProviderTestOptions = {
  /** Whether back-offs end at once. Otherwise they last until the test moves the clock. */
  readonly waits?: 'none' | 'by-hand';
  readonly limits?: Partial<ApiLimits>;
};

/** The real provider, configured for this API, called as the plug-in protocol calls it. */
export function configuredProvider(
  baseUrl: string,
  token: string,
  { waits = 'none', limits = {} }: ProviderTestOptions = {},
): ProviderUnderTest {
  const clock = new FakeClock();
  const retries: Retry[] = [];
  let announce: (retry: Retry) => void = () => {};
  const provider = svcProvider({
    environment: {},
    version: '0.0.0-test',
    clock,
    random: () => 0,
    limits,
    onRetry: (retry) => {
      retries.push(retry);
      announce(retry);
      if (waits === 'none') setImmediate(() => clock.advance(retry.waitMs));
    },
  });
  expect(provider.configure({ api_token: token, base_url: baseUrl }, '1.11.4')).toEqual([]);
  return {
    provider,
    retries,
    retry: () =>
      new Promise((resolve) => {
        announce = resolve;
      }),
    clock,
    resource: (kind) => new ResourceUnderTest(provider.resources[kind]!),
  };
}

type Given = Readonly<Record<string, TerraformValue>>;

/** One resource taken through Terraform's steps; each step checks that it had no diagnostics. */
class ResourceUnderTest {
  readonly calls: ManagedResource;

  constructor(calls: ManagedResource) {
    this.calls = calls;
  }

  config(given: Given): TerraformObject {
    return configOf(this.calls.schema, given);
  }

  planned(given: Given, prior: TerraformObject | null = null): TerraformObject {
    const config = this.config(given);
    const { planned, diagnostics } = this.calls.plan({ prior, proposed: config, config });
    expect(diagnostics).toEqual([]);
    return planned!;
  }

  async created(given: Given): Promise<TerraformObject> {
    return stateOf(await this.calls.create(this.planned(given)));
  }

  async read(state: TerraformObject): Promise<TerraformObject> {
    return stateOf(await this.calls.read(state));
  }

  async updated(state: TerraformObject, given: Given): Promise<TerraformObject> {
    return stateOf(await this.calls.update(state, this.planned(given, state)));
  }

  async imported(id: string): Promise<TerraformObject> {
    return this.read(stateOf(this.calls.import(id)));
  }
}

function stateOf({ state, diagnostics }: Outcome): TerraformObject {
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return state!;
}

/** A configuration as Terraform sends it: every attribute, unset ones null, absent blocks as empty lists. */
export function configOf(schema: Pick<Schema, 'attributes' | 'blocks'>, given: Given): TerraformObject {
  const unknownNames = Object.keys(given).filter(
    (name) => !(name in schema.attributes) && !(name in schema.blocks),
  );
  expect(unknownNames).toEqual([]);
  return {
    ...Object.fromEntries(Object.keys(schema.attributes).map((name) => [name, given[name] ?? null])),
    ...Object.fromEntries(
      Object.entries(schema.blocks).map(([name, { attributes }]) => [
        name,
        ((given[name] ?? []) as Given[]).map((member) => configOf({ attributes, blocks: {} }, member)),
      ]),
    ),
  };
}

/** The only error of an outcome. */
export function errorOf({ diagnostics }: { diagnostics: readonly Diagnostic[] }): Diagnostic {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  expect(errors).toHaveLength(1);
  return errors[0]!;
}
