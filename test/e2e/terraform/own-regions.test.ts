/**
 * The life of a monitor that is checked from an operator's own regions. The provider knows them only from the
 * API.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommandLine } from '@svc/cli/command-line.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../support/api.ts';
import { declare } from '../../support/declare.ts';
import { providerFor } from '../../support/terraform/api.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import {
  apply,
  applyForGood,
  changesIn,
  destroy,
  errorsOf,
  expectNothingToDo,
} from '../../support/terraform/expectations.ts';
import { type Configuration, type Planned, ref } from '../../support/terraform/runner.ts';

const OWN = [
  { id: 'office-berlin', name: 'Berlin office' },
  { id: 'dc-2', name: null },
];

let api: RunningApi;
beforeAll(async () => {
  api = await startApi({ ownRegions: OWN, rate: { perSecond: 1_000, atOnce: 1_000_000 } });
});
afterAll(() => api.dispose());

const checkedFrom = (...regions: string[]): Configuration => ({
  resource: {
    svc_tcp_monitor: { port: { name: 'Port', uri: 'example.com:443', periodicity: '1m', regions } },
  },
});

const warningsOf = ({ diagnostics }: Planned) =>
  diagnostics.flatMap(({ severity, detail }) => (severity === 'warning' ? [detail.trim()] : []));

describeTerraform('own regions', (terraform) => {
  test('are created, changed, imported and removed, and nothing is left to do after each', async () => {
    const workspace = await terraform.workspace(providerFor(api));
    await applyForGood(workspace, checkedFrom('office-berlin', 'hosta-fra'));
    await applyForGood(workspace, checkedFrom('dc-2', 'office-berlin'));
    const { id } = (await workspace.state())['svc_tcp_monitor.port'] ?? {};
    expect((await api.call('GET', `/v1/monitors/${String(id)}`)).body).toMatchObject({
      regions: ['dc-2', 'office-berlin'],
    });
    const imported = await terraform.workspace(providerFor(api));
    await imported.configure(checkedFrom('office-berlin', 'dc-2'));
    expect(await imported.import('svc_tcp_monitor.port', String(id))).toEqual([]);
    await expectNothingToDo(imported);
    await imported.dispose();
    await applyForGood(workspace, checkedFrom('hosta-fra'));
    await destroy(workspace);
    await workspace.dispose();
  });

  test('that the API lacks are refused in the plan, with the nearest or where all are listed', async () => {
    const workspace = await terraform.workspace(providerFor(api));
    await workspace.configure(checkedFrom('office-paris'));
    expect(errorsOf(await workspace.plan())).toEqual([
      expect.stringContaining('"office-paris" is not a region: did you mean "office-berlin"?'),
    ]);
    await workspace.configure(checkedFrom('office-berlin', 'mars'));
    expect(errorsOf(await workspace.plan())).toEqual([
      expect.stringContaining('"mars" is not a region: see GET /v1/regions'),
    ]);
    await workspace.dispose();
  });

  test('are planned with a warning where no API answers', async () => {
    const workspace = await terraform.workspace(providerFor(api, { base_url: 'http://127.0.0.1:1' }));
    await workspace.configure(checkedFrom('office-berlin', 'office-paris'));
    expect(await workspace.validate()).toEqual([]);
    const planned = await workspace.plan();
    expect(errorsOf(planned)).toEqual([]);
    expect(warningsOf(planned)).toEqual([expect.stringMatching(/ office-berlin, office-paris\.$/)]);
    await workspace.dispose();
  });

  test('are planned with a warning, and applied, where the address of the API is not known yet', async () => {
    const url = ref('terraform_data.url.output');
    const workspace = await terraform.workspace(providerFor(api, { base_url: url }));
    const { resource } = checkedFrom('office-berlin');
    await workspace.configure({ resource: { ...resource, terraform_data: { url: { input: api.url } } } });
    const planned = await workspace.plan();
    expect(errorsOf(planned)).toEqual([]);
    expect(warningsOf(planned)).toEqual([expect.stringMatching(/ office-berlin\.$/)]);
    await apply(workspace);
    await expectNothingToDo(workspace);
    await destroy(workspace);
    await workspace.dispose();
  });

  test('whose ids have another form are refused by validate', async () => {
    const workspace = await terraform.workspace(providerFor(api, { base_url: 'http://127.0.0.1:1' }));
    const wrong = ['Office', 'dc', 'office_berlin', 'hosta-berlin', 'coordinator', 'x'.repeat(33)];
    for (const region of wrong) {
      await workspace.configure(checkedFrom('office-berlin', region));
      const errors = errorsOf({ diagnostics: await workspace.validate() });
      expect(errors, region).toEqual([expect.stringMatching(new RegExp(`"${region}" is not a region`))]);
    }
    await workspace.dispose();
  });

  test('of a declared file are exported, and the import of the export changes nothing', async () => {
    const { resource } = checkedFrom('office-berlin', 'hosta-fra', 'dc-2');
    await declare(api, JSON.stringify(resource), {}, OWN);
    const environment = { SVC_BASE_URL: api.url, SVC_API_TOKEN: api.operator };
    const workspace = await terraform.workspace(providerFor(api));
    await workspace.write(
      'override.tf.json',
      JSON.stringify({ provider: { svc: providerFor(api).provider } }),
    );
    const written = { write: () => {} };
    const output = join(workspace.folder, 'main.tf');
    const args = ['export', '--format', 'hcl', '--output', output];
    expect(await runCommandLine(args, { environment, out: written, err: written })).toBe(0);
    expect(await readFile(output, 'utf8')).toContain('["hosta-fra", "dc-2", "office-berlin"]');
    expect(await changesIn(workspace)).toEqual([{ address: 'svc_tcp_monitor.port', action: 'import' }]);
    await apply(workspace);
    await expectNothingToDo(workspace);
    await workspace.dispose();
  });
});
