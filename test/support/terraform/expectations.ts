import { expect } from 'vitest';
import { type Diagnostic, errorsIn } from './diagnostic.ts';
import type { Change, Configuration } from './runner.ts';
import type { TerraformWorkspace } from './terraform-workspace.ts';

/** One line for each error, for messages of tests. Warnings are left out. */
export function errorsOf({ diagnostics }: { readonly diagnostics: readonly Diagnostic[] }): string[] {
  return errorsIn(diagnostics).map(({ address, path, summary, detail }) =>
    [address ?? '', path?.join('.') ?? '', summary, detail.replace(/\s+/g, ' ')].join(' | '),
  );
}

/** Applies the configuration, and expects no errors. */
export async function apply(
  workspace: TerraformWorkspace,
  configuration?: Configuration,
  why = '',
): Promise<void> {
  if (configuration !== undefined) await workspace.configure(configuration);
  expect(errorsOf(await workspace.apply()), why).toEqual([]);
}

/** Returns the actions of the next apply, and expects a plan without errors. */
export async function changesIn(workspace: TerraformWorkspace, why = ''): Promise<readonly Change[]> {
  const planned = await workspace.plan();
  expect(errorsOf(planned), why).toEqual([]);
  return planned.changes.toSorted((one, other) => (one.address < other.address ? -1 : 1));
}

export async function expectNothingToDo(workspace: TerraformWorkspace, why = ''): Promise<void> {
  expect(await changesIn(workspace, why), why).toEqual([]);
}

/** Applies the configuration, and expects no errors and an empty second plan. */
export async function applyForGood(
  workspace: TerraformWorkspace,
  configuration: Configuration,
  why = '',
): Promise<void> {
  await apply(workspace, configuration, why);
  await expectNothingToDo(workspace, why);
}

export async function destroy(workspace: TerraformWorkspace): Promise<void> {
  expect(errorsOf(await workspace.destroy())).toEqual([]);
  expect(await workspace.state()).toEqual({});
}
