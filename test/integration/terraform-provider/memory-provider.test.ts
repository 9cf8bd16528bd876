import { type TerraformObject, UNKNOWN } from '@svc/terraform-provider/value.ts';
import { expect, test } from 'vitest';
import { madeUp, memoryProvider } from '../../support/terraform/memory-provider.ts';

const { resources } = memoryProvider();

test.each(Object.entries(resources))(
  '%s: what was not known is made up, the rest stays',
  async (_, resource) => {
    const { attributes, blocks } = resource.schema;
    const names = [...Object.keys(attributes), ...Object.keys(blocks)];
    const planned: TerraformObject = Object.fromEntries(
      names.map((name) => [name, name === 'name' ? 'given' : UNKNOWN]),
    );

    const { state, diagnostics } = await resource.create(planned);
    expect(diagnostics).toEqual([]);
    expect(Object.keys(state!)).toEqual(names);
    expect(Object.values(state!)).not.toContain(UNKNOWN);
    expect(state!.id).not.toBe((await resource.create(planned)).state!.id);
    if (names.includes('name')) expect(state!.name).toBe('given');
    expect(await resource.read(state!)).toEqual({ state, diagnostics: [] });
  },
);

test('nothing is made up where everything is known', () => {
  const known = { id: '1', name: 'a' };
  expect(madeUp(Object.values(resources)[0]!.schema, known)).toEqual(known);
});
