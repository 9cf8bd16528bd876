import type { SecretPart } from '@svc/shared/resources/definition.ts';
import { parseResource, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { isMask, secretsIn } from '@svc/shared/resources/secrets.ts';
import type { AttributesOf } from '../configuration/kinds/kinds.ts';

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
  // Somebody sends back what a read token was answered.
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
  return `${part === undefined ? 'is' : 'has in it'} the mask that read tokens are shown`;
}
