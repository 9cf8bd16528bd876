/**
 * The life of a monitor that is checked from an operator's own regions. The provider knows them only from the
 * API.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../support/api.ts';
import { providerFor } from '../../support/terraform/api.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import { applyForGood, destroy, errorsOf, expectNothingToDo } from '../../support/terraform/expectations.ts';
import type { Configuration } from '../../support/terraform/runner.ts';

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

  test('that the API lacks are refused in the plan, with those that it has', async () => {
    const workspace = await terraform.workspace(providerFor(api));
    await workspace.configure(checkedFrom('office-paris'));
    const errors = errorsOf(await workspace.plan());
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain('"office-paris" is not a region: did you mean "office-berlin"?');
    await workspace.dispose();
  });

  test('are planned with a warning where no API answers', async () => {
    const workspace = await terraform.workspace(providerFor(api, { base_url: 'http://127.0.0.1:1' }));
    await workspace.configure(checkedFrom('office-berlin'));
    const planned = await workspace.plan();
    expect(errorsOf(planned)).toEqual([]);
    expect(JSON.stringify(planned)).toContain('Regions not compared with those of the API');
    await workspace.dispose();
  });
});
