import type { Diagnostic } from '../provider.ts';
import type { Schema } from '../schema.ts';
import type { TerraformObject } from '../value.ts';
import { conform } from './conform.ts';
import { describeProblem, parseJson, ValueError } from './dynamic-value.ts';
import type { Message } from './messages.ts';

export type Upgraded = {
  readonly state: TerraformObject | null;
  readonly diagnostics: readonly Diagnostic[];
};

/**
 * Converts a stored state to the shape of the present schema. Terraform calls
 * this for every stored object on every run. Removed attributes are dropped.
 * New attributes are null and new blocks are empty until the next read.
 */
export function upgradeState(
  typeName: string,
  schema: Schema,
  version: number,
  stored: Message<'RawState'> | undefined,
): Upgraded {
  if (version > schema.version) {
    return refused(
      'The state was written by a newer provider',
      `The state of this ${typeName} has schema version ${version}; this provider knows up to ` +
        `${schema.version}. Use the version of the provider that wrote it, or a newer one.`,
    );
  }
  if (stored?.json === undefined || stored.json.length === 0) {
    return refused(
      'The state cannot be read',
      `The state of this ${typeName} is not stored as JSON, as every Terraform since 0.12 does.`,
    );
  }
  try {
    const { value, problems } = conform(schema, parseJson(stored.json));
    const misshapen = problems.find(({ path }) => path.length === 0);
    if (misshapen !== undefined) throw new ValueError(misshapen.message);
    return {
      state: value,
      diagnostics: problems.map((problem) => ({
        severity: 'warning',
        summary: 'A stored value is not used',
        detail: `${describeProblem(problem)}. It counts as not set until the object is read.`,
      })),
    };
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    return refused('The state cannot be read', `The stored state of this ${typeName}: ${error.message}.`);
  }
}

function refused(summary: string, detail: string): Upgraded {
  return { state: null, diagnostics: [{ severity: 'error', summary, detail }] };
}
