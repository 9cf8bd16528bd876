import { maskOf, secretsIn } from '@svc/shared/resources/secrets.ts';
import type { ResourceKind } from './kinds/kinds.ts';

/** The secrets of a resource, separate from it: the place and the value of each. */
export type SecretParts = readonly (readonly [path: Path, secret: unknown])[];

/** Whether a value is the parts that {@link splitSecrets} made. */
export function areSecretParts(value: unknown): value is SecretParts {
  return (
    Array.isArray(value) &&
    value.every((part: unknown) => Array.isArray(part) && part.length === 2 && isPath(part[0]))
  );
}

function isPath(value: unknown): value is Path {
  return Array.isArray(value) && value.every((step) => typeof step === 'string' || typeof step === 'number');
}

type Path = readonly (string | number)[];
type Json = { [name: string]: unknown };

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
export function joinSecrets<T extends object>(plain: T, parts: SecretParts): T {
  for (const [path, secret] of parts) set(plain, path, secret);
  return plain;
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, step) => (inner as Json)[step], value);
}

function set(root: object, path: Path, value: unknown): void {
  const last = path.at(-1);
  if (last === undefined) return;
  const parent = at(root, path.slice(0, -1));
  if (typeof parent !== 'object' || parent === null) return;
  // Not by assignment: a header may be called `__proto__`.
  Object.defineProperty(parent, last, { value, writable: true, enumerable: true, configurable: true });
}
