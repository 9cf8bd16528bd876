import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommandLine } from '@svc/cli/command-line.ts';
import { hclFile } from '@svc/cli/export/hcl.ts';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { anyText } from '../../support/any-text.ts';
import { type RunningApi, startApi } from '../../support/api.ts';
import { declare, storedByName } from '../../support/declare.ts';
import { type DebugProvider, startDebugProvider } from '../../support/terraform/debug-provider.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import {
  byDevOverrides,
  byMirror,
  byReattach,
  type Installation,
  TerraformWorkspace,
} from '../../support/terraform/terraform-workspace.ts';
import { asDeclaredFile, WHOLE_CONFIGURATION } from '../../support/whole-configuration.ts';

/** The version constraint that an export contains. */
const VERSION_CONSTRAINT = '~> 0.1';

describeTerraform('an export as HCL', ({ binary, provider }) => {
  let api: RunningApi;
  let debug: DebugProvider;
  let environment: Readonly<Record<string, string>>;
  let workspace: TerraformWorkspace | null = null;

  beforeAll(async () => {
    api = await startApi();
    await declare(api, asDeclaredFile(WHOLE_CONFIGURATION));
    environment = { SVC_BASE_URL: api.url, SVC_API_TOKEN: api.operator };
    debug = await startDebugProvider(provider().command, environment);
  });
  afterAll(async () => {
    await debug?.stop();
    await api.dispose();
  });
  afterEach(async () => {
    await workspace?.dispose();
    workspace = null;
  });

  async function open(installation: Installation): Promise<TerraformWorkspace> {
    workspace = await TerraformWorkspace.open(binary, installation, { provider: {}, environment });
    return workspace;
  }

  /** Writes the export into the folder of a new workspace. Answers the messages for people. */
  async function exported(...options: string[]): Promise<{ in: TerraformWorkspace; said: string }> {
    return exportedInto(await open(byReattach(debug.reattach)), options);
  }

  async function exportedInto(
    opened: TerraformWorkspace,
    options: readonly string[],
  ): Promise<{ in: TerraformWorkspace; said: string }> {
    let said = '';
    const output = ['--format', 'hcl', '--output', join(opened.folder, 'main.tf')];
    const inFolder = options.map((option) => option.replace('FOLDER', opened.folder));
    const code = await runCommandLine(['export', ...output, ...inFolder], {
      environment,
      out: { write: () => {} },
      err: { write: (text) => (said += text) },
    });
    expect(code, said).toBe(0);
    expect(await opened.run('init', '-input=false')).toMatchObject({ code: 0 });
    return { in: opened, said };
  }

  const summaryOf = ({ stdout, stderr }: { stdout: string; stderr: string }) =>
    stdout.match(/^(?:Plan:|No changes\.|Apply complete!).*$/gm)?.at(-1) ?? `${stdout}${stderr}`;
  const plan = async (at: TerraformWorkspace) => summaryOf(await at.run('plan', '-no-color', '-input=false'));
  const apply = async (at: TerraformWorkspace) =>
    summaryOf(await at.run('apply', '-no-color', '-input=false', '-auto-approve'));
  const count = Object.values(WHOLE_CONFIGURATION).flatMap(Object.keys).length;
  const stored = () => storedByName(api, (kind, id) => `${kind} ${id}`);

  test('with secrets in plain text: imported without a change', async () => {
    const installed = await open(byMirror(provider().mirror, VERSION_CONSTRAINT));
    const { in: at } = await exportedInto(installed, ['--secrets', 'inline']);
    expect(await at.run('fmt', '-check', '-diff')).toMatchObject({ code: 0, stdout: '' });
    expect(await plan(at)).toBe(`Plan: ${count} to import, 0 to add, 0 to change, 0 to destroy.`);
    const before = await stored();
    expect(await apply(at)).toBe(
      `Apply complete! Resources: ${count} imported, 0 added, 0 changed, 0 destroyed.`,
    );
    expect(await plan(at)).toMatch(/^No changes\./);
    expect(await stored()).toEqual(before);
  });

  test('with secrets in a file of their own: the import only marks header values and webhook addresses as sensitive', async () => {
    const { in: at, said } = await exported('--secrets-file', 'FOLDER/secrets.auto.tfvars');
    expect(said).toContain('only to mark the values as sensitive');
    expect(await readFile(join(at.folder, 'main.tf'), 'utf8')).not.toMatch(/Bearer|s3cret/);
    expect(await at.run('fmt', '-check', '-diff')).toMatchObject({ code: 0, stdout: '' });
    const { stdout } = await at.run('plan', '-no-color', '-input=false');
    expect(stdout).not.toMatch(/Bearer|s3cret/);
    expect([...stdout.matchAll(/^ {2}# (\S+) will be updated in-place$/gm)].map(([, name]) => name)).toEqual([
      'svc_http_monitor.api',
      `svc_http_monitor.${'x'.repeat(60)}`,
      'svc_notification.hook',
      'svc_notification.webhook',
      'svc_notification.webhook_2',
    ]);
    expect(stdout.match(/^ {2}# .* will be imported$/gm)).toHaveLength(count - 5);
    const before = await stored();
    await apply(at);
    expect(await plan(at)).toMatch(/^No changes\./);
    expect(await stored()).toEqual(before);
  });

  test('Terraform changes what the declared file declared once the file is given up', async () => {
    const { in: at } = await exported('--secrets', 'inline');
    await apply(at);
    const file = join(at.folder, 'main.tf');
    const text = await readFile(file, 'utf8');
    await at.write('main.tf', text.replace('"Main"', '"Moved"'));
    expect(await plan(at)).toBe('Plan: 0 to add, 1 to change, 0 to destroy.');
    const refused = await at.run('apply', '-no-color', '-input=false', '-auto-approve');
    expect(refused.stderr.replace(/\s*\n\W*/g, ' ')).toContain('is declared in monitors.yaml as "main"');
    // A start without SVC_CONFIG does this.
    await api.configuration.releaseFileOwnership();
    expect(await apply(at)).toBe('Apply complete! Resources: 0 added, 1 changed, 0 destroyed.');
    expect(await plan(at)).toMatch(/^No changes\./);
    expect(await stored()).toMatchObject({ 'svc_status_page 1': { title: 'Moved' } });
  });

  test('without the values of its variables: refused', async () => {
    const { in: at, said } = await exported();
    expect(said).toContain('  TF_VAR_status_page_locked_password (svc_status_page.locked.password)\n');
    expect(await plan(at)).toContain('No value for required variable');
  });
});

describeTerraform('the writer of HCL', ({ binary, provider }) => {
  test('Terraform reads every text unchanged, and would not rewrite any', async () => {
    const text = fc
      .oneof(
        anyText(),
        fc.string({ unit: fc.constantFrom('$', '%', '{', '}', '~', '"', '\\', '\n', '\r', 'a') }),
      )
      // Terraform normalizes texts to this form.
      .map((each) => each.normalize('NFC'));
    const texts = fc.sample(text, { numRuns: 500, seed: 1 });
    const installation = byDevOverrides(provider().folder);
    const workspace = await TerraformWorkspace.open(binary, installation, { provider: {} });
    try {
      const outputs = texts.map((value, index) => ({
        type: 'output',
        labels: [`t${index}`],
        attributes: { value },
      }));
      await workspace.write('main.tf', hclFile(outputs));
      expect(await workspace.run('fmt', '-check', '-diff')).toMatchObject({ code: 0, stdout: '' });
      expect(await workspace.run('apply', '-input=false', '-auto-approve')).toMatchObject({ code: 0 });
      const read = await workspace.outputs();
      expect(texts.map((_text, index) => read[`t${index}`])).toEqual(texts);
    } finally {
      await workspace.dispose();
    }
  });
});
