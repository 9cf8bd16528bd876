import { afterAll, beforeAll, describe } from 'vitest';
import { type BuiltProvider, COMPILED, sharedProvider } from './built-provider.ts';
import { type DebugProvider, startDebugProvider } from './debug-provider.ts';
import { startClient } from './plugin-process.ts';
import { ProtocolWorkspace } from './protocol-workspace.ts';
import type { Workspace, WorkspaceOptions } from './runner.ts';
import { terraformBinary } from './terraform-command.ts';
import { byDevOverrides, byReattach, TerraformWorkspace } from './terraform-workspace.ts';

/** One way of running the built provider. */
export type Way = {
  readonly isReal: boolean;
  workspace(options: WorkspaceOptions): Promise<Workspace>;
};

export const TERRAFORM = terraformBinary();

/** The reason for which tests that need the real binary are skipped. */
export const WITHOUT_TERRAFORM = 'no terraform on PATH nor in SVC_TEST_TERRAFORM';

/**
 * The same flows by the real Terraform and by the client of the plug-in protocol. Without Terraform its half
 * is skipped, by name.
 */
export function describeBothWays(title: string, suite: (way: Way) => void): void {
  if (TERRAFORM === null) console.warn(`${title}: ${WITHOUT_TERRAFORM}, its half is skipped`);
  describe.skipIf(TERRAFORM === null)(`${title} (terraform)`, () => {
    const provider = usedProvider();
    const opened = disposedAfterAll();
    let debug: DebugProvider;
    beforeAll(async () => {
      debug = await startDebugProvider(provider().command);
    });
    afterAll(() => debug.stop());
    suite({
      isReal: true,
      workspace: async (options) => {
        // One process for all commands is several times faster; an environment needs a new one each.
        const { environment } = options;
        const installed = environment ? byDevOverrides(provider().folder) : byReattach(debug.reattach);
        return opened(await TerraformWorkspace.open(TERRAFORM ?? '', installed, options));
      },
    });
  });
  describe(`${title} (plug-in protocol)`, () => {
    const provider = usedProvider();
    const opened = disposedAfterAll();
    suite({
      isReal: false,
      workspace: async ({ provider: body, environment = {} }) => {
        const client = await startClient(provider().command, { ...COMPILED, ...environment });
        return opened(await ProtocolWorkspace.over(client, body));
      },
    });
  });
}

/** What only the real Terraform can do. */
export function describeTerraform(
  title: string,
  suite: (terraform: { binary: string; provider(): BuiltProvider }) => void,
): void {
  if (TERRAFORM === null) console.warn(`${title}: ${WITHOUT_TERRAFORM}, skipped`);
  describe.skipIf(TERRAFORM === null)(`${title} (terraform)`, () => {
    const provider = usedProvider();
    suite({ binary: TERRAFORM ?? '', provider });
  });
}

/** Tests dispose of their workspaces themselves, but for those that fail. */
function disposedAfterAll(): (workspace: Workspace) => Workspace {
  const opened: Workspace[] = [];
  afterAll(async () => {
    await Promise.all(opened.map((workspace) => workspace.dispose()));
  });
  return (workspace) => {
    opened.push(workspace);
    return workspace;
  };
}

/** The provider for the tests of a suite. */
function usedProvider(): () => BuiltProvider {
  let built: BuiltProvider | null = null;
  beforeAll(async () => {
    built = await sharedProvider();
  });
  return () => {
    if (built === null) throw new Error('the provider is built before the tests of a suite');
    return built;
  };
}
