import { parseResource, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { MASK, secretPaths } from '@svc/shared/resources/secrets.ts';
import type { AttributesOf } from '../configuration/kinds.ts';
import { invalid } from './problem.ts';

/**
 * The normalized attributes of a declared resource that was sent.
 *
 * @throws Problem with all that is wrong
 */
export function attributesIn(kind: ResourceKind, body: unknown): AttributesOf<ResourceKind> {
  const result = parseResource(kind, body, 'api');
  const masks = maskedPaths(kind, body).map((path) => ({
    path,
    message: `is the mask that read tokens are shown: send the secret itself`,
  }));
  if (!result.ok) throw invalid([...result.issues, ...masks]);
  if (masks.length > 0) throw invalid(masks);
  return result.value;
}

/** Secrets given as the mask: somebody sends back what a read token was answered. */
function maskedPaths(kind: ResourceKind, body: unknown): PropertyKey[][] {
  return secretPaths(kind).flatMap((pattern) => masksAt(body, pattern));
}

function masksAt(value: unknown, [step, ...rest]: readonly string[]): PropertyKey[][] {
  if (step === undefined) return value === MASK ? [[]] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value)
    .filter(([name]) => step === '*' || step === name)
    .flatMap(([name, inner]) => masksAt(inner, rest).map((path) => [name, ...path]));
}
