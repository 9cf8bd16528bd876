import type { ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { isResourceKind } from '@svc/shared/resources/registry.ts';
import { maskIssues } from '@svc/shared/resources/secrets.ts';
import type { Diagnostic } from '../provider.ts';
import type { TerraformObject } from '../value.ts';
import { diagnosticOf } from './diagnostic-text.ts';

/**
 * Reports each secret whose configured value is the mask that the
 * API shows in the place of secrets. The API would refuse the mask.
 */
export function maskProblems({ kind }: ResourceDefinition, config: TerraformObject): Diagnostic[] {
  if (!isResourceKind(kind)) return [];
  return maskIssues(kind, config).map(({ path, isMember, message }) => {
    const key = isMember ? path.at(-1) : undefined;
    return diagnosticOf({ path: typeof key === 'string' ? [...path.slice(0, -1), { key }] : path, message });
  });
}
