import { maskOf, secretsIn } from '@svc/shared/resources/secrets.ts';
import type { ResourceKind } from './kinds.ts';

type Path = readonly (string | number)[];
type Json = { [name: string]: unknown };

/** The secrets of a resource, separate from it: the place and the value of each. */
export type SecretParts = readonly (readonly [path: Path, secret: unknown])[];

/**
 * Takes the secrets out of a resource. An empty string stands in their places. A string of which only a part
 * is secret is taken out whole, and the masked string stands in its place. Null stays null.
 */
export function splitSecrets(kind: ResourceKind, attributes: Json): { plain: Json; parts: SecretParts } {
  const plain = structuredClone(attributes);
  const secrets = secretsIn(kind, plain);
  for (const secret of secrets) set(plain, secret.path, secret.part === undefined ? '' : maskOf(secret));
  return { plain, parts: secrets.map(({ path, value }) => [path, value]) };
}

/** The inverse of {@link splitSecrets}; changes and answers `plain`. */
export function joinSecrets(plain: Json, parts: SecretParts): Json {
  for (const [path, secret] of parts) set(plain, path, secret);
  return plain;
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
