import { notYet } from '../not-yet.ts';
import { DEFINITIONS, type ResourceKind, type Resources } from './registry.ts';

/** Warnings about attributes of a normalized resource that have no effect, or none yet, without a full stop. */
export function withoutEffect<K extends ResourceKind>(kind: K, attributes: Resources[K]): string[] {
  return [...notYet(kind, attributes), ...(DEFINITIONS[kind].withoutEffect?.({ ...attributes }) ?? [])];
}
