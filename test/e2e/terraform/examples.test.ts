import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { RESOURCES_AT_API } from '@svc/terraform-provider/resources/registry.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { exampleFolders, terraformPages } from '../../../docs/generate/terraform-pages.ts';
import { type RunningApi, startApi } from '../../support/api.ts';
import { VALID } from '../../support/resources.ts';
import { type DebugProvider, startDebugProvider } from '../../support/terraform/debug-provider.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import type { State } from '../../support/terraform/runner.ts';
import { byReattach, TerraformWorkspace } from '../../support/terraform/terraform-workspace.ts';

const EXAMPLES = new URL('../../../packages/terraform-provider/examples/', import.meta.url);

/** The secrets of all kinds of channels. A URL is a valid value for each. */
const CHANNEL_SECRETS = Object.fromEntries(
  CHANNEL_KINDS.map((kind) => [kind, `https://secret.example.com/${kind}`]),
);

test('there is an example for every resource and data source', () => {
  const pages = [...terraformPages().keys()].filter(
    (path) => path !== 'index.md' && !path.startsWith('guides/'),
  );
  expect(pages.map((path) => path.replace(/\/(\w+)\.md$/, '/svc_$1')).sort()).toEqual(exampleFolders());
});

describeTerraform('the examples of the docs', ({ binary, provider }) => {
  let api: RunningApi;
  let workspaces: TerraformWorkspace[];
  /** A provider that all commands share. Otherwise Terraform would start four for each command. */
  let debug: DebugProvider;

  beforeEach(async () => {
    workspaces = [];
    api = await startApi();
    debug = await startDebugProvider(provider().command, { SVC_API_TOKEN: api.operator });
  });
  afterEach(async () => {
    await Promise.all(workspaces.map((workspace) => workspace.dispose()));
    await debug.stop();
    await api.dispose();
  });

  async function open(folder: string): Promise<TerraformWorkspace> {
    const environment = { TF_VAR_svc_base_url: api.url, ...(await variables()) };
    const installation = byReattach(debug.reattach);
    const workspace = await TerraformWorkspace.open(binary, installation, { provider: {}, environment });
    workspaces.push(workspace);
    for (const from of ['provider', folder]) {
      for (const name of readdirSync(new URL(from, EXAMPLES))) {
        await workspace.write(name, readFileSync(new URL(`${from}/${name}`, EXAMPLES), 'utf8'));
      }
    }
    return workspace;
  }

  /** Values of the variables: secrets, and ids of objects that are "managed elsewhere". */
  async function variables(): Promise<Record<string, string>> {
    const secrets = [
      'orders_token',
      'otlp_token',
      'hook_secret',
      'pager_integration_key',
      'customer_page_password',
    ];
    return {
      ...Object.fromEntries(secrets.map((name) => [`TF_VAR_${name}`, `value-of-${name}`])),
      TF_VAR_channel_secrets: JSON.stringify(CHANNEL_SECRETS),
      TF_VAR_monitor_id: await elsewhere('/v1/monitors', { type: 'http', ...VALID.svc_http_monitor }),
      TF_VAR_notification_id: await elsewhere('/v1/notifications', VALID.svc_notification),
      TF_VAR_page_id: await elsewhere('/v1/status-pages', VALID.svc_status_page),
    };
  }

  async function elsewhere(path: string, body: object): Promise<string> {
    const listed = await api.call('GET', path);
    const [first] = (listed.body as { data: { id: string }[] }).data;
    if (first !== undefined) return first.id;
    return ((await api.call('POST', path, body)).body as { id: string }).id;
  }

  const run = async (workspace: TerraformWorkspace, ...args: string[]) => {
    const { code, stdout, stderr } = await workspace.run(...args, '-no-color');
    expect({ code, output: stdout + stderr }).toMatchObject({ code: 0 });
    return stdout;
  };

  test('are formatted as terraform fmt does', async () => {
    const workspace = await open('provider');
    await run(workspace, 'fmt', '-check', '-diff', '-recursive', fileURLToPath(EXAMPLES));
  });

  test.each(exampleFolders())('%s', async (folder) => {
    const workspace = await open(folder);
    await run(workspace, 'apply', '-input=false', '-auto-approve');
    // The exit code is 0 if nothing is to change.
    await run(workspace, 'plan', '-input=false', '-detailed-exitcode');
    const state = await workspace.state();
    if (folder.startsWith('resources/')) importIsDocumented(folder, state);
    const imports = Object.entries(state).flatMap(([address, values]) => importOf(address, values) ?? []);
    if (imports.length === 0) return;
    const again = await open(folder);
    await again.write('import.tf', imports.join('\n'));
    // The only changes are marks that values of variables are sensitive.
    expect(await run(again, 'apply', '-input=false', '-auto-approve')).toContain(
      `${imports.length} imported, 0 added,`,
    );
    await run(again, 'plan', '-input=false', '-detailed-exitcode');
  });

  /** The address that the page imports to is one of the example's. */
  function importIsDocumented(folder: string, state: State): void {
    const page = terraformPages().get(folder.replace('svc_', '').concat('.md')) ?? '';
    const [, address = '', id = ''] = /^import \{\n {2}to = (.+)\n {2}id = "(.+)"$/m.exec(page) ?? [];
    expect(Object.keys(state)).toContain(address);
    expect(id.split('/')).toHaveLength(idAttributesOf(address)?.length ?? 0);
  }

  function importOf(address: string, values: Readonly<Record<string, unknown>>): string | null {
    const id = idAttributesOf(address)
      ?.map((name) => String(values[name]))
      .join('/');
    return id === undefined ? null : `import {\n  to = ${address}\n  id = "${id}"\n}\n`;
  }

  function idAttributesOf(address: string): readonly string[] | undefined {
    const kinds: Readonly<Record<string, { idAttributes: readonly string[] }>> = RESOURCES_AT_API;
    return kinds[address.split('.')[0] ?? '']?.idAttributes;
  }
});
