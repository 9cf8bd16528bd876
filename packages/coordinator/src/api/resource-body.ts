import { parseResource, type ResourceKind } from '@svc/shared/resources/registry.ts';
import type { AttributesOf } from '../configuration/kinds.ts';

export type BodyIssue = { readonly path: readonly (string | number)[]; readonly message: string };

/** A resource that was sent: normalized, or what is wrong with it (the first of `count` issues). */
export type CheckedBody =
  | { readonly attributes: AttributesOf<ResourceKind> }
  | { readonly issues: readonly BodyIssue[]; readonly count: number };

/** Issues that are answered: nobody reads more. */
const MOST_ISSUES = 100;

/** Normalizes a declared resource, and finds all that is wrong with it. */
export function checkedBody(kind: ResourceKind, body: unknown): CheckedBody {
  const result = parseResource(kind, body, 'api');
  if (result.ok) return { attributes: result.value };
  const { issues } = result;
  return {
    issues: issues.slice(0, MOST_ISSUES).map(({ path, message }) => ({ path, message })),
    count: issues.length,
  };
}
