import { RESOURCE_KINDS } from '@svc/shared/resources/registry.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../support/api.ts';
import { declare, declaredNames, type NameOf, storedByName } from '../../support/declare.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import type { State } from '../../support/terraform/runner.ts';
import { asDeclaredFile, asTerraformJson, WHOLE_CONFIGURATION } from '../../support/whole-configuration.ts';

let byFile: RunningApi;
let byTerraform: RunningApi;
let declared: Record<string, object>;

beforeAll(async () => {
  byFile = await startApi();
  await declare(byFile, asDeclaredFile(WHOLE_CONFIGURATION));
  declared = await storedByName(byFile, await declaredNames(byFile));
});
afterAll(() => byFile.dispose());

test('the configuration has all resources, and all attributes and blocks of each', () => {
  const kinds = new Set(Object.keys(declared).map((name) => name.split('.')[0]));
  expect([...kinds].sort()).toEqual([...RESOURCE_KINDS].sort());
  for (const kind of kinds) {
    const stored = Object.entries(declared).filter(([name]) => name.startsWith(`${kind}.`));
    const names = new Set(stored.flatMap(([, members]) => Object.keys(members)));
    const isGiven = (value: unknown) => value !== null && value !== undefined;
    const given = stored.flatMap(([, members]) =>
      Object.entries(members).flatMap(([name, value]) => (isGiven(value) ? [name] : [])),
    );
    expect([...names].filter((name) => !given.includes(name))).toEqual([]);
  }
});

/** The addresses of a Terraform state, for the ids in it. */
function namesIn(state: State): NameOf {
  const names = new Map(
    Object.entries(state).map(([address, { id }]) => [`${address.split('.')[0]} ${String(id)}`, address]),
  );
  return (kind, id) => names.get(`${kind} ${id}`) ?? `${kind} ${id} is not in the state`;
}

describeTerraform('svc.yaml and Terraform agree', (terraform) => {
  beforeAll(async () => {
    byTerraform = await startApi();
  });
  afterAll(() => byTerraform.dispose());

  test('on everything that is stored', async () => {
    const workspace = await terraform.workspace({
      provider: { base_url: byTerraform.url, api_token: byTerraform.operator },
    });
    try {
      await workspace.configure({ resource: asTerraformJson(WHOLE_CONFIGURATION) });
      const { diagnostics } = await workspace.apply();
      // Resources that have no effect yet are created with a warning.
      expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
      const stored = await storedByName(byTerraform, namesIn(await workspace.state()));
      expect(stored).toEqual(declared);
      expect(await workspace.plan()).toMatchObject({ changes: [] });
    } finally {
      await workspace.dispose();
    }
  });
});
