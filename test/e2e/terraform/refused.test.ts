/**
 * Refusals before anything is changed, by Terraform: the table of
 * `test/refusals/`, and mistakes that only Terraform's configurations can have.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { split } from '../../refusals/refusal.ts';
import { REFUSALS } from '../../refusals/table.ts';
import { addressOf, terraformBodies, terraformPath, wordsOf } from '../../refusals/terraform.ts';
import { VALID } from '../../support/resources.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import { type Diagnostic, errorsIn } from '../../support/terraform/diagnostic.ts';
import type { Body, Configuration } from '../../support/terraform/runner.ts';
import type { TerraformWorkspace } from '../../support/terraform/terraform-workspace.ts';

const PROVIDER = { api_token: 'not-used', base_url: 'http://127.0.0.1:9' };

const ROWS = REFUSALS.map((refusal, index) => ({ ...refusal, label: `row_${index}` }));
/**
 * Terraform reports a break of the schema alone, before it asks
 * the provider. So each such row has a configuration of its own.
 */
const BY_TERRAFORM = ROWS.filter(({ says }) => says.terraform instanceof RegExp);
const BY_PROVIDER = ROWS.filter(({ says }) => !(says.terraform instanceof RegExp));

/**
 * Mistakes that are possible only in Terraform. `says` is `path: text`, or a pattern for Terraform's own
 * message.
 */
type Alone = readonly [name: string, address: string, body: Body, says: string | RegExp];

const ALONE: readonly Alone[] = [
  [
    'a threshold of more digits than are kept',
    'svc_tcp_monitor.digits',
    { ...VALID.svc_tcp_monitor, degraded_at: '0.12345678901234567890123' },
    'degraded_at: has too many digits: write at most 15',
  ],
  [
    'a time-out beyond 64 bits',
    'svc_tcp_monitor.beyond',
    { ...VALID.svc_tcp_monitor, timeout: '18446744073709551616' },
    'timeout: is 18446744073709552000, but must be from 0 to 120000',
  ],
  [
    'two forms of one secret',
    'svc_notification.two',
    {
      provider_type: 'incident_a',
      incident_a: [{ integration_key: 'a', integration_key_wo: 'a', integration_key_wo_version: 1 }],
    },
    'incident_a.0.integration_key_wo: cannot be given beside integration_key: remove one of them',
  ],
  ['a limit of 0', 'data.svc_monitors.none', { limit: 0 }, 'limit: must be a whole number from 1 to 100'],
  ['a limit of 101', 'data.svc_monitors.many', { limit: 101 }, 'limit: must be a whole number from 1 to 100'],
  ['half a limit', 'data.svc_monitors.half', { limit: 1.5 }, 'limit: must be a whole number from 1 to 100'],
  ['an offset of -1', 'data.svc_monitors.before', { offset: -1 }, 'offset: must be a whole number from 0'],
  [
    'an id that is none',
    'data.svc_monitor.named',
    { id: 'api' },
    'id: is not an id: use a decimal number as a string, like "12"',
  ],
  [
    'an empty id',
    'data.svc_notification.empty',
    { id: '' },
    'id: is not an id: use a decimal number as a string, like "12"',
  ],
  ['no id', 'data.svc_status_page.none', {}, /The argument "id" is required/],
];

const isByProvider = ([, , , says]: Alone) => typeof says === 'string';

const PROVIDERS: readonly [name: string, body: Body, text: string][] = [
  [
    'a base URL that is none',
    { api_token: 'a', base_url: 'example.com' },
    'must be a URL that starts with http:// or https://',
  ],
  ['an empty token', { api_token: '' }, 'The argument api_token of the provider block is empty'],
];

/**
 * Whether a row gets into a file of long rows. Terraform reads the whole file again for each error in it, so
 * a few long rows would make hundreds of short rows slow.
 */
const isLong = ({ body }: (typeof ROWS)[number]) => JSON.stringify(body).length > 100_000;

/**
 * A configuration for each row that Terraform itself refuses, and then those for the rows that the provider
 * refuses.
 */
function configurations(): Configuration[] {
  const [ofProvider, ofTerraform] = [ALONE.filter(isByProvider), ALONE.filter((row) => !isByProvider(row))];
  const short = BY_PROVIDER.filter((row) => !isLong(row));
  return [
    configurationOf(BY_TERRAFORM, ofTerraform),
    configurationOf(short, ofProvider),
    configurationOf(BY_PROVIDER.filter(isLong), []),
  ];
}

function configurationOf(rows: typeof ROWS, alone: readonly Alone[]): Configuration {
  const resource = terraformBodies(rows);
  const data: Record<string, Record<string, Body>> = {};
  for (const [, address, body] of alone) {
    const [name = '', type = '', mode] = address.split('.').reverse();
    const blocks = mode === 'data' ? data : resource;
    blocks[type] = { ...blocks[type], [name]: body };
  }
  // Terraform refuses an empty `data` object.
  return Object.keys(data).length === 0 ? { resource } : { resource, data };
}

const oneLine = ({ summary, detail }: Diagnostic) => `${summary} ${detail}`.replace(/\s+/g, ' ');

type Path = readonly (string | number)[] | undefined;

/** Expects that Terraform points at the innermost expression of the file that contains the attribute. */
function expectAt(found: Diagnostic | undefined, path: Path): void {
  const shown = (found?.path ?? []).join('.');
  const expected = (path ?? []).join('.');
  expect(expected.startsWith(shown), `${shown} is not around ${expected}`).toBe(true);
}

describeTerraform('what is refused', (terraform) => {
  let workspace: TerraformWorkspace;
  let found: ReadonlyMap<string, readonly Diagnostic[]>;
  const at = (address: string) => found.get(address) ?? [];

  beforeAll(async () => {
    workspace = await terraform.workspace({ provider: PROVIDER });
    const all: Diagnostic[] = [];
    for (const configuration of configurations()) {
      await workspace.configure(configuration);
      all.push(...errorsIn(await workspace.validate()));
    }
    found = Map.groupBy(all, ({ address = '' }) => address);
  });
  afterAll(() => workspace.dispose());

  test.each(BY_TERRAFORM)('$kind with $name', (row) => {
    expect(at(addressOf(row)).map(oneLine).join('\n')).toMatch(row.says.terraform as RegExp);
  });

  test.each(BY_PROVIDER)('$kind with $name', (row) => {
    const expected = (row.says.terraform as readonly string[]).map(split);
    const said = at(addressOf(row));
    expect(said.map(({ detail }, index) => wordsOf(detail, expected[index]?.[1] ?? detail))).toEqual(
      expected.map(([, message]) => message),
    );
    for (const [index, [path]] of expected.entries()) expectAt(said[index], terraformPath(row, path));
  });

  test.each(ALONE)('%s', (_name, address, _body, says) => {
    const [only, ...others] = at(address);
    expect(others).toEqual([]);
    if (says instanceof RegExp) return expect(oneLine(only!)).toMatch(says);
    const [path, message] = split(says);
    expect(wordsOf(only?.detail ?? '', message)).toBe(message);
    expectAt(only, path.split('.'));
  });

  test.each(PROVIDERS)('a provider with %s', async (_name, body, text) => {
    const other = await terraform.workspace({ provider: body });
    // Terraform does not call a provider that nothing uses.
    await other.configure({ resource: { svc_status_page: { page: { title: 'a', slug: 'a' } } } });
    const diagnostics = errorsIn(await other.validate());
    expect(diagnostics.map(oneLine).join('\n')).toContain(text);
    await other.dispose();
  });
});
