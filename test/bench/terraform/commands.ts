import type { BuiltProvider } from '../../support/terraform/built-provider.ts';
import type { Body, Configuration } from '../../support/terraform/runner.ts';
import { byDevOverrides, TerraformWorkspace } from '../../support/terraform/terraform-workspace.ts';
import { PluginProcesses, type PluginUsage } from './plugin-processes.ts';

export type Step = 'plan' | 'apply' | 'refresh' | 'destroy';

/**
 * The commands in the life of the resources, in their order, each with the words of Terraform when it did
 * everything.
 */
const STEPS: Record<Step, { args: string[]; code: number; says: (count: number) => string }> = {
  plan: { args: ['plan', '-detailed-exitcode'], code: 2, says: (n) => `Plan: ${n} to add, 0 to change` },
  apply: { args: ['apply', '-auto-approve'], code: 0, says: (n) => `Resources: ${n} added` },
  refresh: { args: ['plan', '-detailed-exitcode'], code: 0, says: () => 'No changes.' },
  destroy: { args: ['destroy', '-auto-approve'], code: 0, says: (n) => `Resources: ${n} destroyed` },
};

export type Measured = PluginUsage & {
  /** The whole command. */
  readonly ms: number;
  /** Of the service's process, ms. */
  readonly serviceCpuMs: number;
};

export type Life = Record<Step, Measured>;

export type Setting = {
  readonly terraform: string;
  readonly provider: BuiltProvider;
  /** Arguments of the provider block. */
  readonly arguments: Body;
  readonly configuration: Configuration;
  readonly monitors: number;
  /** CPU time that the service has used so far, ms. */
  serviceCpuMs(): number;
};

/** Plans, makes, reads and removes monitors in a fresh folder. */
export async function liveOnce(setting: Setting): Promise<Life> {
  const { terraform, provider } = setting;
  const workspace = await TerraformWorkspace.open(terraform, byDevOverrides(provider.folder), {
    provider: setting.arguments,
  });
  try {
    await workspace.configure(setting.configuration);
    return {
      plan: await runStep(workspace, 'plan', setting),
      apply: await runStep(workspace, 'apply', setting),
      refresh: await runStep(workspace, 'refresh', setting),
      destroy: await runStep(workspace, 'destroy', setting),
    };
  } finally {
    await workspace.dispose();
  }
}

async function runStep(
  workspace: TerraformWorkspace,
  step: Step,
  { monitors, serviceCpuMs }: Setting,
): Promise<Measured> {
  const { args, code, says } = STEPS[step];
  const serviceBefore = serviceCpuMs();
  const startedAt = performance.now();
  const command = workspace.start(...args, '-input=false', '-no-color', '-parallelism=10');
  const plugins = new PluginProcesses(command.pid);
  const result = await command.result;
  const ms = performance.now() - startedAt;
  const usage = plugins.stop();
  if (result.code !== code || !result.stdout.includes(says(monitors))) {
    throw new Error(
      `terraform ${step} of ${monitors} ended with ${result.code}:\n${result.stderr.slice(-4_000)}`,
    );
  }
  return { ...usage, ms, serviceCpuMs: serviceCpuMs() - serviceBefore };
}
