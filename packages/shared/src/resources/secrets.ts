import { MASK } from '../secret.ts';
import { HIDDEN_USER_INFO, hidesUserInfo } from '../url-secrets.ts';
import type { Attributes, SecretPart } from './definition.ts';
import { DEFINITIONS, type ResourceKind } from './definitions.ts';
import type { Issue } from './input.ts';

/** A secret of a resource, with its place. */
export type SecretPlace = {
  readonly path: readonly (string | number)[];
  /** Whether the last step of the path is a key that the user chose, as opposed to an attribute. */
  readonly isMember: boolean;
  /** The whole value, even when only a part of the value is secret. */
  readonly value: unknown;
  /** The secret part of the value; undefined when all of it is secret. */
  readonly part: SecretPart | undefined;
};

type MaskIssue = Issue & Pick<SecretPlace, 'isMember'>;

/**
 * The secrets that are set in a resource as users write it; the resource need not be valid. A
 * single block may be a list of one, as in Terraform. A text that may have a secret part is
 * included only when it has that part.
 */
export function secretsIn(kind: ResourceKind, resource: unknown): SecretPlace[] {
  return SECRETS[kind].flatMap(({ path: pattern, part }) => {
    const isMember = pattern.at(-1) === '*';
    return placesIn(resource, pattern)
      .filter(({ value }) => hasSecret(part, value))
      .map((place) => ({ ...place, isMember, part }));
  });
}

/** The secret at a place of a resource as users write it; null when the value there is not secret. */
export function secretAt(
  kind: ResourceKind,
  path: readonly (string | number)[],
  value: unknown,
): Pick<SecretPlace, 'value' | 'part'> | null {
  const found = SECRETS[kind].find((secret) => leadsTo(secret.path, path));
  return found !== undefined && hasSecret(found.part, value) ? { value, part: found.part } : null;
}

function leadsTo(pattern: readonly string[], path: readonly (string | number)[]): boolean {
  return (
    pattern.length === path.length && pattern.every((step, index) => step === '*' || step === path[index])
  );
}

function hasSecret(part: SecretPart | undefined, value: unknown): boolean {
  return part === undefined || (typeof value === 'string' && part.isIn(value));
}

function placesIn(
  value: unknown,
  pattern: readonly string[],
): { path: readonly (string | number)[]; value: unknown }[] {
  const [step, ...rest] = pattern;
  if (value === null || value === undefined) return [];
  if (step === undefined) return [{ path: [], value }];
  if (typeof value !== 'object') return [];
  const below = (at: string | number, member: unknown, inner: readonly string[]) =>
    placesIn(member, inner).map((place) => ({ ...place, path: [at, ...place.path] }));
  if (Array.isArray(value)) {
    const inner = step === '*' ? rest : pattern;
    return value.flatMap((member, index) => below(index, member, inner));
  }
  if (step === '*') return Object.entries(value).flatMap(([name, member]) => below(name, member, rest));
  // No list of all members is made, because this function runs for each secret of each written resource.
  return Object.hasOwn(value, step) ? below(step, (value as Record<string, unknown>)[step], rest) : [];
}

/** The value as it is shown to tokens that may not read the secret. */
export function maskOf({ value, part }: Pick<SecretPlace, 'value' | 'part'>): string {
  return part === undefined || typeof value !== 'string' ? MASK : part.replaced(value, MASK);
}

/**
 * Whether a secret equals the mask that was shown in its place. If so, the client
 * sends back an answer that it read.
 */
export function isMask({ value, part }: Pick<SecretPlace, 'value' | 'part'>): boolean {
  if (part?.isMasked !== undefined && typeof value === 'string') return part.isMasked(value, MASK);
  return value === maskOf({ value, part });
}

/**
 * Finds secrets that equal their mask in a resource as users write it, and user information that an answer
 * left out ({@link HIDDEN_USER_INFO}). In both cases, the client sends back an answer that a read token got.
 */
export function maskIssues(kind: ResourceKind, resource: unknown): MaskIssue[] {
  const masks = secretsIn(kind, resource)
    .filter(isMask)
    .map(({ path, isMember, part }) => ({
      path,
      isMember,
      message: `${part === undefined ? 'is' : 'contains'} the mask that read tokens see: write the secret itself`,
    }));
  return isObject(resource) && hidesUserInfo(resource) ? [...masks, LEFT_OUT] : masks;
}

/**
 * The fault of a monitor that a client sends back without the user information of its URL. Storing the
 * monitor would remove the user information.
 */
const LEFT_OUT: MaskIssue = {
  path: [HIDDEN_USER_INFO],
  isMember: false,
  message:
    'says that read tokens do not see the user information of the url: write that into the url, or remove this member',
};

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/**
 * A copy of a resource as users write it (blocks under their names) with its secrets masked; null stays null.
 */
export function masked<T extends object>(kind: ResourceKind, resource: T): T {
  return SECRETS[kind].reduce<unknown>((value, { path, part }) => maskAt(value, path, part), resource) as T;
}

function maskAt(value: unknown, path: readonly string[], part: SecretPart | undefined): unknown {
  const [step, ...rest] = path;
  if (value === null || value === undefined) return value;
  if (step === undefined) return hasSecret(part, value) ? maskOf({ value, part }) : value;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    // Lists in an unexpected place are masked too, as `placesIn` searches them too.
    const inner = step === '*' ? rest : path;
    return value.map((member) => maskAt(member, inner, part));
  }
  const entries = Object.entries(value).map(([name, member]) => [
    name,
    step === '*' || name === step ? maskAt(member, rest, part) : member,
  ]);
  return Object.fromEntries(entries);
}

/**
 * The path to secrets in a resource as users write it. `*` stands for every member of a list or mapping:
 * `['headers', '*', 'value']`.
 */
type SecretPattern = { readonly path: readonly string[]; readonly part?: SecretPart };

const SECRETS = Object.fromEntries(
  Object.entries(DEFINITIONS).map(([kind, definition]) => [
    kind,
    [
      ...patternsIn(definition.attributes),
      ...Object.entries(definition.blocks).flatMap(([name, block]) =>
        patternsIn(block.attributes, [name, ...(block.nesting === 'list' ? ['*'] : [])]),
      ),
    ],
  ]),
) as unknown as Readonly<Record<ResourceKind, readonly SecretPattern[]>>;

function patternsIn(attributes: Attributes, above: readonly string[] = []): SecretPattern[] {
  return Object.entries(attributes).flatMap(([name, { secret, value }]): SecretPattern[] => {
    const path = [...above, name];
    if (value.attributes !== undefined) return patternsIn(value.attributes, [...path, '*']);
    if (secret) return [{ path: value.type === 'map' ? [...path, '*'] : path }];
    return value.secretPart === undefined ? [] : [{ path, part: value.secretPart }];
  });
}
