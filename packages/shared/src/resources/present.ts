import { DEFINITIONS, type ResourceKind, type Resources } from './registry.ts';

/**
 * Normalized attributes as users write and read them. The settings of a channel stand under the name of its
 * kind; everything else stays as it is.
 */
export function presented<K extends ResourceKind>(
  kind: K,
  attributes: Resources[K],
): Record<string, unknown> {
  const members = { ...attributes };
  return DEFINITIONS[kind].present?.(members) ?? members;
}
