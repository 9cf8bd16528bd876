import { afterAll, beforeAll, describe } from 'vitest';
import { type BuiltProvider, sharedProvider } from './built-provider.ts';
import { type DebugProvider, startDebugProvider } from './debug-provider.ts';
import type { WorkspaceOptions } from './runner.ts';
import { terraformBinary } from './terraform-command.ts';
import { byDevOverrides, byReattach, TerraformWorkspace } from './terraform-workspace.ts';

/** The real Terraform with the built provider. */
export type Terraform = {
  readonly binary: string;
  provider(): BuiltProvider;
  /**
   * Makes a workspace. One process of the provider serves
   * all of its commands, unless the environment is special.
   */
  workspace(options: WorkspaceOptions): Promise<TerraformWorkspace>;
};

export const TERRAFORM = terraformBinary();

/** The reason for which tests that need the real binary are skipped. */
export const WITHOUT_TERRAFORM = 'no terraform on PATH nor in SVC_TEST_TERRAFORM';

/** Describes tests with the real Terraform. If there is none, they are skipped by name. */
export function describeTerraform(title: string, suite: (terraform: Terraform) => void): void {
  if (TERRAFORM === null) console.warn(`${title}: ${WITHOUT_TERRAFORM}, skipped`);
  describe.skipIf(TERRAFORM === null)(`${title} (terraform)`, () => {
    const binary = TERRAFORM ?? '';
    let built: BuiltProvider | null = null;
    let debug: Promise<DebugProvider> | null = null;
    // Workspaces that are open. Tests dispose of their workspaces themselves, except tests that fail.
    const opened: TerraformWorkspace[] = [];
    const provider = () => {
      if (built === null) throw new Error('the provider is built before the tests of a suite');
      return built;
    };
    beforeAll(async () => {
      built = await sharedProvider();
    });
    afterAll(async () => {
      await Promise.all(opened.map((workspace) => workspace.dispose()));
      await (await debug)?.stop();
    });
    suite({
      binary,
      provider,
      workspace: async (options) => {
        // One process of the provider for all commands is several times
        // faster. A special environment needs a new process for each command.
        if (options.environment === undefined) debug ??= startDebugProvider(provider().command);
        const reattach = (await debug)?.reattach ?? '';
        const installed =
          options.environment === undefined ? byReattach(reattach) : byDevOverrides(provider().folder);
        const workspace = await TerraformWorkspace.open(binary, installed, options);
        opened.push(workspace);
        return workspace;
      },
    });
  });
}
