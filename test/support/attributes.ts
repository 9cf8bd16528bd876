import type { AttributesOf } from '@svc/coordinator/declaration/kinds/kind-tables.ts';
import { parseResource, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { VALID } from './resources.ts';

/** Normalized attributes of a valid resource, with these members changed. */
export function attributes<K extends ResourceKind>(
  kind: K,
  members: Record<string, unknown> = {},
): AttributesOf<K> {
  const parsed = parseResource(kind, { ...VALID[kind], ...members }, 'api');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parsed.value;
}
