import { describe, expect, test } from 'vitest';
import {
  outcome,
  type Script,
  scriptedProvider,
  THING,
} from '../../../../test/support/terraform/scripted-provider.ts';
import type { Provider } from '../provider.ts';
import { type TerraformObject, UNKNOWN } from '../value.ts';
import { ProviderCalls } from './calls.ts';
import { decodeValue, encodeValue } from './dynamic-value.ts';
import type { Message } from './messages.ts';

const NAME = { type_name: 'svc_thing' };
const PRIVATE = Buffer.from('opaque');

function callsOf(script: Script = {}, rest: Partial<Provider> = {}) {
  const provider = scriptedProvider(script, rest);
  const logged: unknown[] = [];
  const calls = new ProviderCalls({
    load: async () => provider,
    log: (...line) => logged.push(line),
    onStopped: () => {},
  });
  return { calls, logged };
}

const sent = (value: Partial<TerraformObject> | null) =>
  encodeValue(THING, value as TerraformObject | null).value;
const received = (message: Message<'DynamicValue'> | undefined) => decodeValue(THING, message);
const a: TerraformObject = { id: '1', name: 'a', parts: [{ key: 'k' }] };
const b: TerraformObject = { id: '1', name: 'b', parts: [] };
const wrong = { severity: 'error', summary: 'No', detail: 'Because.', path: ['parts', 0, 'key'] } as const;
const wrongMessage = {
  severity: 1,
  summary: 'No',
  detail: 'Because.',
  attribute: { steps: [{ attribute_name: 'parts' }, { element_key_int: 0 }, { attribute_name: 'key' }] },
};

describe("the provider's contents", () => {
  test('Terraform may cache schemas', async () => {
    const schema = await callsOf().calls.GetProviderSchema();
    expect(Object.keys(schema.resource_schemas!)).toEqual(['svc_thing']);
    expect(Object.keys(schema.data_source_schemas!)).toEqual(['svc_thing']);
    expect(schema.server_capabilities).toEqual({ get_provider_schema_optional: true });
    expect(await callsOf().calls.GetMetadata()).toMatchObject({ resources: [NAME], data_sources: [NAME] });
  });

  test('a provider that cannot be loaded says so in every answer', async () => {
    const calls = new ProviderCalls({
      load: () => Promise.reject(new Error('no such file')),
      log: () => {},
      onStopped: () => {},
    });
    const { diagnostics } = await calls.GetProviderSchema();
    expect(diagnostics![0]!.detail).toContain('no such file');
    expect((await calls.StopProvider()).Error).toContain('no such file');
  });
});

describe('configuration', () => {
  test('is checked with its path', async () => {
    const { calls } = callsOf({ validate: () => [wrong] });
    expect(await calls.ValidateResourceConfig({ ...NAME, config: sent(a) })).toEqual({
      diagnostics: [wrongMessage],
    });
    expect(await calls.ValidateDataResourceConfig({ ...NAME, config: sent(a) })).toEqual({
      diagnostics: [wrongMessage],
    });
  });

  test('of the provider exists even when nothing is set', async () => {
    const seen: unknown[] = [];
    const { calls } = callsOf(
      {},
      {
        configure: (...given) => {
          seen.push(given);
          return [];
        },
        validate: () => [wrong],
      },
    );
    expect(await calls.ConfigureProvider({ terraform_version: '1.11.4' })).toEqual({ diagnostics: [] });
    expect(seen).toEqual([[{ token: null }, '1.11.4']]);
    expect(await calls.ValidateProviderConfig({})).toEqual({ diagnostics: [wrongMessage] });
  });

  test('of a type that the provider does not have is refused', async () => {
    for (const name of ['svc_other', 'constructor', undefined]) {
      const { diagnostics } = await callsOf().calls.ValidateResourceConfig({
        type_name: name,
        config: sent(a),
      });
      expect(diagnostics![0]!.detail).toContain(`this provider has no resource "${name ?? ''}"`);
    }
  });
});

describe('reading', () => {
  test('answers the state, and the private state as it was', async () => {
    const { calls } = callsOf({ read: async () => outcome(b) });
    const answer = await calls.ReadResource({ ...NAME, current_state: sent(a), private: PRIVATE });
    expect(received(answer.new_state)).toEqual(b);
    expect(answer).toMatchObject({ private: PRIVATE, diagnostics: [] });
  });

  test('an object that no longer exists is null', async () => {
    const { calls } = callsOf({ read: async () => outcome(null) });
    expect(received((await calls.ReadResource({ ...NAME, current_state: sent(a) })).new_state)).toBeNull();
  });

  test('a failure keeps the state', async () => {
    const { calls } = callsOf();
    const answer = await calls.ReadResource({ ...NAME, current_state: sent(a) });
    expect(received(answer.new_state)).toEqual(a);
    expect(answer.diagnostics![0]!.summary).toBe('Internal error of the provider');
  });

  test('a data source', async () => {
    const { calls } = callsOf({ read: async () => outcome(b) });
    expect(received((await calls.ReadDataSource({ ...NAME, config: sent(a) })).state)).toEqual(b);
  });
});

describe('planning', () => {
  const request = { ...NAME, prior_state: sent(a), proposed_new_state: sent(b), config: sent(b) };

  test("hands over Terraform's values and answers with the plan", async () => {
    const planned: TerraformObject = { ...b, id: UNKNOWN };
    const seen: unknown[] = [];
    const { calls } = callsOf({
      plan: (given) => {
        seen.push(given);
        return { planned, replaces: [['name']], diagnostics: [] };
      },
    });
    const answer = await calls.PlanResourceChange({ ...request, prior_private: PRIVATE });
    expect(seen).toEqual([{ prior: a, proposed: b, config: b }]);
    expect(received(answer.planned_state)).toEqual(planned);
    expect(answer).toMatchObject({
      requires_replace: [{ steps: [{ attribute_name: 'name' }] }],
      planned_private: PRIVATE,
    });
  });

  test('with an error there is no plan', async () => {
    const { calls } = callsOf({ plan: () => ({ planned: b, replaces: [], diagnostics: [wrong] }) });
    expect(await calls.PlanResourceChange(request)).toMatchObject({
      planned_state: undefined,
      diagnostics: [wrongMessage],
    });
  });
});

describe('applying', () => {
  const apply = (script: Script, prior: TerraformObject | null, planned: TerraformObject | null) =>
    callsOf(script).calls.ApplyResourceChange({
      ...NAME,
      prior_state: sent(prior),
      planned_state: sent(planned),
      planned_private: PRIVATE,
    });

  test('without a state before it is a creation', async () => {
    const planned: TerraformObject = { ...a, id: UNKNOWN };
    const answer = await apply({ create: async (given) => outcome({ ...given, id: '7' }) }, null, planned);
    expect(received(answer.new_state)).toEqual({ ...a, id: '7' });
    expect(answer.private).toEqual(PRIVATE);
  });

  test('without a state afterwards it is a removal, else a change', async () => {
    const removed = await apply({ remove: async (prior) => outcome(prior === null ? a : null) }, a, null);
    expect(received(removed.new_state)).toBeNull();
    const changed = await apply({ update: async (_prior, planned) => outcome(planned) }, a, b);
    expect(received(changed.new_state)).toEqual(b);
  });

  test('a creation that failed half-way keeps the part that exists', async () => {
    const answer = await apply({ create: async () => outcome(a, wrong) }, null, a);
    expect(received(answer.new_state)).toEqual(a);
    expect(answer.diagnostics).toEqual([wrongMessage]);
  });

  test('an object of the wrong shape is kept as far as it fits', async () => {
    const misshapen = { id: '7', name: ['x'], extra: 1 } as unknown as TerraformObject;
    const answer = await apply({ create: async () => outcome(misshapen) }, null, a);
    expect(received(answer.new_state)).toEqual({ id: '7', name: null, parts: [] });
    expect(answer.diagnostics![0]!.detail).toContain('name: a string is required, not a list');
  });

  test.each([
    ['a change', a, b],
    ['a removal', a, null],
    ['a creation', null, a],
  ])('%s that throws leaves the state as it was', async (_, prior, planned) => {
    const answer = await apply({}, prior, planned);
    expect(received(answer.new_state)).toEqual(prior);
    expect(answer.diagnostics![0]!.detail).toContain('not part of this test');
  });

  test('bytes that cannot be decoded change nothing', async () => {
    const { calls } = callsOf();
    const answer = await calls.ApplyResourceChange({
      ...NAME,
      prior_state: sent(a),
      planned_state: { msgpack: Uint8Array.of(0xc1) },
    });
    expect(received(answer.new_state)).toEqual(a);
    expect(answer.diagnostics![0]!.detail).toContain('not MessagePack');
  });
});

describe('import', () => {
  test('answers with the ids of the import id', async () => {
    const { calls } = callsOf({ import: (id) => outcome({ id }) });
    const { imported_resources: imported } = await calls.ImportResourceState({ ...NAME, id: '7' });
    expect(imported).toHaveLength(1);
    expect(imported![0]!.type_name).toBe('svc_thing');
    expect(received(imported![0]!.state)).toEqual({ id: '7', name: null, parts: [] });
  });

  test('of a bad id answers without a resource', async () => {
    const { calls } = callsOf({ import: () => outcome(null, wrong) });
    expect(await calls.ImportResourceState({ ...NAME, id: '?' })).toEqual({
      imported_resources: [],
      diagnostics: [wrongMessage],
    });
  });
});

test('a stored state gets the present shape', async () => {
  const { calls } = callsOf();
  const request = { ...NAME, version: 0, raw_state: { json: Buffer.from('{"id":"1","name":"a","old":1}') } };
  expect(received((await calls.UpgradeResourceState(request)).upgraded_state)).toEqual({ ...a, parts: [] });
});

test('the log has only the stack frames of an error', async () => {
  const create = (): never => {
    throw new Error('a secret');
  };
  const { calls, logged } = callsOf({ create });
  await calls.ApplyResourceChange({ ...NAME, planned_state: sent(a) });
  expect(logged).toHaveLength(1);
  expect(JSON.stringify(logged)).toContain('calls.test.ts');
  expect(JSON.stringify(logged)).not.toContain('a secret');
});
