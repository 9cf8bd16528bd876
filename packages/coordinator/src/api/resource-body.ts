import type { SecretPart } from '@svc/shared/resources/definition.ts';
import { parseResource, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { isMask, secretsIn } from '@svc/shared/resources/secrets.ts';
import type { AttributesOf } from '../configuration/kinds.ts';

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
  // A client sends back what a read token was shown.
  const masks = secretsIn(kind, body)
    .filter(isMask)
    .map(({ path, part }) => ({ path, message: `${said(part)}: send the secret itself` }));
  if (result.ok && masks.length === 0) return { attributes: result.value };
  const isOfMask = ({ path }: BodyIssue) => masks.some((mask) => mask.path.join() === path.join());
  const issues = [...(result.ok ? [] : result.issues.filter((issue) => !isOfMask(issue))), ...masks];
  const told = issues.slice(0, MOST_ISSUES).map(({ path, message }) => ({ path, message }));
  return { issues: told, count: issues.length };
}

function said(part: SecretPart | undefined): string {
  return `${part === undefined ? 'is' : 'contains'} the mask that read tokens see`;
}
