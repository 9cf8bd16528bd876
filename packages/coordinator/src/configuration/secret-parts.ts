import { secretPaths } from '@svc/shared/resources/secrets.ts';
import type { ResourceKind } from './kinds.ts';

type Path = readonly (string | number)[];
type Json = { [name: string]: unknown };

/** A resource's secrets beside it: where each was taken out, and what it was. */
export type SecretParts = readonly (readonly [path: Path, secret: unknown])[];

/** Takes the secrets of a resource out, leaving the empty text where they were; what is null stays null. */
export function splitSecrets(kind: ResourceKind, attributes: Json): { plain: Json; parts: SecretParts } {
  const plain = structuredClone(attributes);
  const parts: [Path, unknown][] = [];
  for (const pattern of secretPaths(kind)) {
    for (const path of matches(plain, pattern)) {
      parts.push([path, at(plain, path)]);
      set(plain, path, '');
    }
  }
  return { plain, parts };
}

/** The inverse of {@link splitSecrets}; changes and answers `plain`. */
export function joinSecrets(plain: Json, parts: SecretParts): Json {
  for (const [path, secret] of parts) set(plain, path, secret);
  return plain;
}

/** Existing places that a pattern of {@link secretPaths} names. */
function matches(value: unknown, [step, ...rest]: readonly string[]): Path[] {
  if (value === null || value === undefined) return [];
  if (step === undefined) return [[]];
  if (typeof value !== 'object') return [];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return keys
    .filter((key) => step === '*' || key === step)
    .flatMap((key) => matches((value as Json)[key], rest).map((path) => [key, ...path]));
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, step) => (inner as Json)[step], value);
}

function set(root: Json, path: Path, value: unknown): void {
  const last = path.at(-1);
  if (last === undefined) return;
  const parent = at(root, path.slice(0, -1));
  if (typeof parent !== 'object' || parent === null) return;
  // Not by assignment: a header may be called `__proto__`.
  Object.defineProperty(parent, last, { value, writable: true, enumerable: true, configurable: true });
}
