import { notYet } from '../not-yet.ts';
import { DEFINITIONS, type ResourceKind, type Resources } from './registry.ts';

/** What of a normalized resource has no effect, or none yet, for people, without a full stop. */
export function withoutEffect<K extends ResourceKind>(kind: K, attributes: Resources[K]): string[] {
  return [...notYet(kind, attributes), ...(DEFINITIONS[kind].withoutEffect?.({ ...attributes }) ?? [])];
}
