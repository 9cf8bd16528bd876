import { parseResource, type ResourceKind } from '@svc/shared/resources/registry.ts';
import type { AttributesOf } from '../configuration/kinds/kinds.ts';
import { invalid } from './problem.ts';

/**
 * The normalized attributes of a resource in a body.
 *
 * @throws Problem `invalid` with all errors
 */
export function attributesIn(kind: ResourceKind, body: unknown): AttributesOf<ResourceKind> {
  const result = parseResource(kind, body, 'api');
  if (result.ok) return result.value;
  throw invalid(result.issues);
}
