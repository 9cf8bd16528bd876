import type { z } from 'zod';

/**
 * What a declared resource is to users, once: its validation (input.ts), the OpenAPI document, the
 * declared file, the Terraform schema and the reference pages are all read from these definitions.
 */
export type ResourceDefinition = {
  /** As in Terraform and in the declared file: `svc_http_monitor`. */
  readonly kind: string;
  /** For messages: `monitor`. */
  readonly noun: string;
  /** List of the API that has them; one stands under `/{id}`. */
  readonly path: `/v1/${string}`;
  /** For headings: `HTTP monitor`. */
  readonly title: string;
  readonly description: string;
  readonly attributes: Attributes;
  readonly blocks: Blocks;
  /** Part of every normalized value (`type: 'http'`); where the API carries it, it must match. */
  readonly constants: Readonly<Record<string, string>>;
  /** Members that only the API answers, beside the computed attributes; ignored when sent back. */
  readonly apiMembers: readonly string[];
  /** Rules over more than one attribute. */
  readonly rules: readonly Rule[];
  /** Last step of normalization, where the normalized form is not simply the members by name. */
  arrange?(members: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /** The inverse of {@link arrange}. */
  present?(normalized: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /**
   * What of a normalized resource has no effect beside its other attributes, for people, without a full stop. Nobody
   * who sets a password means a page that everybody sees.
   */
  withoutEffect?(normalized: Readonly<Record<string, unknown>>): readonly string[];
};

export type Attributes = Readonly<Record<string, Attribute>>;
export type Blocks = Readonly<Record<string, Block>>;

/** A type of value with its bounds; `schema` validates one that was given (never null). */
export type Value<T = unknown> = {
  readonly type: 'string' | 'number' | 'bool' | 'set' | 'list' | 'map' | 'objects';
  readonly schema: z.ZodType<T>;
  /** Validates it in the declared file, where that differs. */
  readonly inFile?: z.ZodType<T>;
  readonly oneOf?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minimumLength?: number;
  readonly maximumLength?: number;
  /** Most members of a set, list or map. */
  readonly maximumItems?: number;
  readonly unit?: 'ms' | 'days';
  /** The value (or each member) is the id of a resource of one of these kinds. */
  readonly references?: readonly string[];
  /** Members of each object of `objects`. */
  readonly attributes?: Attributes;
  /** What a valid value looks like, in a few words: `host:port`. */
  readonly form?: string;
  /** What is secret in it, where it is not secret as a whole. */
  readonly secretPart?: SecretPart;
};

/** A part of a text that is kept encrypted, and masked for tokens that only read. */
export type SecretPart = {
  /** For people: `user information`. */
  readonly name: string;
  isIn(text: string): boolean;
  /** The text with `mask` in place of the part; as it is where it has none. */
  replaced(text: string, mask: string): string;
  /** The text without the part. */
  left(text: string): string;
  /** Whether the mask stands for some of it; without this, whether it stands for all of it. */
  isMasked?(text: string, mask: string): boolean;
};

export type Presence = 'required' | 'optional' | 'default' | 'computed';

export type Attribute<T = unknown, P extends Presence = Presence> = {
  readonly value: Value<T>;
  readonly presence: P;
  /** Taken when the attribute is left out; only with presence `default`. */
  readonly default?: unknown;
  readonly description: string;
  /** Terraform hides it in everything it shows. Always `secret` too. */
  readonly sensitive: boolean;
  /** Encrypted at rest, and masked for tokens that only read. */
  readonly secret: boolean;
  /** Changing it makes a new object in place of the old one. */
  readonly replaces: boolean;
};

/** A nested block: `single` at most once, as a mapping; `list` up to `maximum` times. */
export type Block<A extends Attributes = Attributes, N extends 'single' | 'list' = 'single' | 'list'> = {
  readonly nesting: N;
  readonly maximum: number;
  readonly description: string;
  readonly attributes: A;
};

/**
 * A rule over several attributes. `check` sees the members that were given (each may itself be
 * invalid or missing) and answers what is wrong, with the attribute to point at.
 */
export type Rule = {
  /** For the reference pages. */
  readonly description: string;
  check(given: Readonly<Record<string, unknown>>): readonly RuleBreach[];
  /** What is wrong whatever a value will be that `check` looks at and that is not known yet, as during a plan. */
  checkUnknown?(given: Readonly<Record<string, unknown>>): readonly RuleBreach[];
};

export type RuleBreach = { readonly path: readonly (string | number)[]; readonly message: string };

type Meaning = { sensitive?: boolean; secret?: boolean; replaces?: boolean };

function attribute<T, P extends Presence>(
  presence: P,
  value: Value<T>,
  description: string,
  { sensitive = false, secret = sensitive, replaces = false }: Meaning,
): Attribute<T, P> {
  return { value, presence, description, sensitive, secret, replaces };
}

export function required<T>(value: Value<T>, description: string, meaning: Meaning = {}) {
  return attribute('required', value, description, meaning);
}

/** Normalized to `null` when left out. */
export function optional<T>(value: Value<T>, description: string, meaning: Meaning = {}) {
  return attribute('optional', value, description, meaning);
}

export function withDefault<T>(
  value: Value<T>,
  fallback: NoInfer<T>,
  description: string,
  meaning: Meaning = {},
) {
  return { ...attribute('default', value, description, meaning), default: fallback };
}

/** Set by the service, never by the user. */
export function computed<T>(value: Value<T>, description: string, meaning: Meaning = {}) {
  return attribute('computed', value, description, meaning);
}

export function repeatedBlock<A extends Attributes>(
  maximum: number,
  description: string,
  attributes: A,
): Block<A, 'list'> {
  return { nesting: 'list', maximum, description, attributes };
}

export function singleBlock<A extends Attributes>(description: string, attributes: A): Block<A, 'single'> {
  return { nesting: 'single', maximum: 1, description, attributes };
}

/** Normalized attributes: defaults applied, what was left out is null, computed ones absent. */
export type NormalizedAttributes<A extends Attributes> = {
  [K in keyof A as A[K] extends Attribute<unknown, 'computed'> ? never : K]: A[K] extends Attribute<
    infer T,
    infer P
  >
    ? P extends 'optional'
      ? T | null
      : T
    : never;
};

/** Normalized blocks: a list (empty when none), or one or null. */
export type NormalizedBlocks<B extends Blocks> = {
  [K in keyof B]: B[K]['nesting'] extends 'list'
    ? NormalizedAttributes<B[K]['attributes']>[]
    : NormalizedAttributes<B[K]['attributes']> | null;
};

/** The normalized type of a definition. */
export type Normalized<D extends Pick<ResourceDefinition, 'attributes' | 'blocks' | 'constants'>> = {
  [K in keyof D['constants']]: D['constants'][K];
} & NormalizedAttributes<D['attributes']> &
  NormalizedBlocks<D['blocks']>;
