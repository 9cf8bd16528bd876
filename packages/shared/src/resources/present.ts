import { DEFINITIONS, type ResourceKind, type Resources } from './registry.ts';

/**
 * Normalized attributes as users write and read them: the settings of a channel stand under the name
 * of its kind. Everything else is written as it is normalized.
 */
export function presented<K extends ResourceKind>(
  kind: K,
  attributes: Resources[K],
): Record<string, unknown> {
  const members = { ...attributes };
  return DEFINITIONS[kind].present?.(members) ?? members;
}
