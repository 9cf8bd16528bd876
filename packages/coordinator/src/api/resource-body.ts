import { parseResource, type ResourceKind } from '@svc/shared/resources/registry.ts';
import type { AttributesOf } from '../configuration/kinds/kinds.ts';

export type BodyIssue = { readonly path: readonly (string | number)[]; readonly message: string };

/** A checked resource: its normalized attributes, or its errors (the first of `count`). */
export type CheckedBody =
  | { readonly attributes: AttributesOf<ResourceKind> }
  | { readonly issues: readonly BodyIssue[]; readonly count: number };

/** Most errors in an answer; nobody reads more. */
const MOST_ISSUES = 100;

/** Normalizes a declared resource and finds all its errors. */
export function checkedBody(kind: ResourceKind, body: unknown): CheckedBody {
  const result = parseResource(kind, body, 'api');
  if (result.ok) return { attributes: result.value };
  const { issues } = result;
  return {
    issues: issues.slice(0, MOST_ISSUES).map(({ path, message }) => ({ path, message })),
    count: issues.length,
  };
}
