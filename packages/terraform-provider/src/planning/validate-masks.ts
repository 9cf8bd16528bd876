import type { ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { isResourceKind } from '@svc/shared/resources/registry.ts';
import { MASK, secretPaths } from '@svc/shared/resources/secrets.ts';
import type { AttributePath, Diagnostic } from '../provider.ts';
import { isObject, type TerraformObject, type TerraformValue } from '../value.ts';
import { diagnosticOf } from './diagnostic-text.ts';

/** Secrets configured as the mask that the API shows in their place, which it refuses to be sent. */
export function maskProblems({ kind }: ResourceDefinition, config: TerraformObject): Diagnostic[] {
  const patterns = isResourceKind(kind) ? secretPaths(kind) : [];
  return patterns
    .flatMap((pattern) => masksAt(config, pattern))
    .map((path) =>
      diagnosticOf({
        path,
        message: `is "${MASK}", which tokens that only read are shown: write the secret itself`,
      }),
    );
}

function masksAt(value: TerraformValue, pattern: readonly string[]): AttributePath[] {
  const [step, ...rest] = pattern;
  if (step === undefined) return value === MASK ? [[]] : [];
  if (Array.isArray(value)) {
    // A single block is a list of one here, which the pattern has no step for.
    const inner = step === '*' ? rest : pattern;
    return value.flatMap((member, index) => masksAt(member, inner).map((path) => [index, ...path]));
  }
  if (value === null || !isObject(value)) return [];
  if (step !== '*') return masksAt(value[step] ?? null, rest).map((path) => [step, ...path]);
  return Object.entries(value).flatMap(([key, member]) =>
    masksAt(member, rest).map((path) => [{ key }, ...path]),
  );
}
