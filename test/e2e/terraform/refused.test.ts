/** Every invalid configuration is refused before anything is changed, where it is wrong. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { InvalidConfiguration } from '../../support/terraform/configuration-case.ts';
import type { Diagnostic } from '../../support/terraform/diagnostic.ts';
import { errorsIn } from '../../support/terraform/diagnostic.ts';
import { INVALID_CONFIGURATIONS } from '../../support/terraform/invalid-configurations.ts';
import type { Body, Configuration, Workspace } from '../../support/terraform/runner.ts';
import { describeBothWays } from '../../support/terraform/ways.ts';

const PROVIDER = { api_token: 'not-used', base_url: 'http://127.0.0.1:9' };

/** All of one kind of block in one configuration, each under a name of its own. */
const named = (of: InvalidConfiguration['of']) =>
  INVALID_CONFIGURATIONS.filter((each) => each.of === of).map((each, index) => ({
    ...each,
    label: `case_${index}`,
  }));
type Named = ReturnType<typeof named>[number];

const RESOURCES = named('resource');
const DATA = named('data');
const PROVIDERS = named('provider');

function declared(cases: readonly Named[]): Record<string, Record<string, Body>> {
  const types: Record<string, Record<string, Body>> = {};
  for (const { type, label, body } of cases) types[type] = { ...types[type], [label]: literal(body) as Body };
  return types;
}

/** Texts as they are: Terraform would take `${` for a reference. */
function literal(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/([$%])\{/g, '$1$1{');
  if (Array.isArray(value)) return value.map(literal);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, literal(member)]));
}

const addressOf = ({ of, type, label }: Named) => `${of === 'data' ? 'data.' : ''}${type}.${label}`;

function expectRefused(one: Named, found: readonly Diagnostic[], isReal: boolean) {
  const texts = found.map(({ summary, detail }) => `${summary} ${detail}`.replace(/\s+/g, ' '));
  const matching = found.filter((_each, index) =>
    typeof one.text === 'string' ? texts[index]?.includes(one.text) : one.text.test(texts[index] ?? ''),
  );
  expect(matching, `${one.name}: ${texts.join(' | ') || 'nothing said'}`).not.toEqual([]);
  if (one.by === 'terraform' || one.path === undefined) return;
  const path = one.path.map((step) => (typeof step === 'object' ? step.key : step));
  const shown = matching.map((each) => (each.path ?? []).join('.'));
  // Terraform points at an expression: the innermost one that stands in the file around the attribute.
  const isThere = isReal
    ? shown.some((each) => path.join('.').startsWith(each))
    : shown.includes(path.join('.'));
  expect(isThere, `${one.name}: expected at ${path.join('.')}, is at ${shown.join(' and ')}`).toBe(true);
}

test('there are enough of them', () => {
  expect(INVALID_CONFIGURATIONS.length).toBeGreaterThanOrEqual(80);
});

describeBothWays('invalid configurations', (way) => {
  let workspace: Workspace;
  let found: ReadonlyMap<string, readonly Diagnostic[]>;

  beforeAll(async () => {
    workspace = await way.workspace({ provider: PROVIDER });
    const byAddress = new Map<string, Diagnostic[]>();
    // What breaks the schema is reported alone, before the provider is asked: in a configuration of its own.
    for (const by of ['terraform', 'provider'] as const) {
      const of = (cases: readonly Named[]) => declared(cases.filter((each) => each.by === by));
      const configuration: Configuration = { resource: of(RESOURCES), data: of(DATA) };
      await workspace.configure(configuration);
      for (const each of errorsIn(await workspace.validate())) {
        const address = each.address ?? '';
        byAddress.set(address, [...(byAddress.get(address) ?? []), each]);
      }
    }
    found = byAddress;
  }, 60_000);
  afterAll(() => workspace.dispose());

  test.each([...RESOURCES, ...DATA])('$type with $name', (one) => {
    expectRefused(one, found.get(addressOf(one)) ?? [], way.isReal);
  });

  test.each(PROVIDERS)('provider with $name', async (one) => {
    const other = await way.workspace({ provider: one.body });
    // A provider that nothing uses is not asked.
    await other.configure({ resource: { svc_status_page: { page: { title: 'a', slug: 'a' } } } });
    const diagnostics = errorsIn(await other.validate());
    expectRefused({ ...one, path: undefined } as unknown as Named, diagnostics, way.isReal);
    await other.dispose();
  });
});
