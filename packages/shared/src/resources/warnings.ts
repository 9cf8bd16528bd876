import { notYet } from '../settings/not-yet.ts';
import { DEFINITIONS, type ResourceKind, type Resources } from './registry.ts';

/** Warnings about the attributes of a normalized resource, without a full stop. */
export function attributeWarnings<K extends ResourceKind>(kind: K, attributes: Resources[K]): string[] {
  return [...notYet(kind, attributes), ...(DEFINITIONS[kind].warnings?.({ ...attributes }) ?? [])];
}
