import type { z } from 'zod';

/**
 * The only definition of a declared resource. The validation (input.ts), the OpenAPI document, the declared
 * file, the Terraform schema and the reference pages are all read from it.
 */
export type ResourceDefinition = {
  /** Name in Terraform and in the declared file: `svc_http_monitor`. */
  readonly kind: string;
  /** Noun for messages: `monitor`. */
  readonly noun: string;
  /** Path of the list in the API; a single object is under `/{id}`. */
  readonly path: `/v1/${string}`;
  /** Title for headings: `HTTP monitor`. */
  readonly title: string;
  readonly description: string;
  readonly attributes: Attributes;
  readonly blocks: Blocks;
  /**
   * Constant members of every normalized value (`type: 'http'`). When a request contains such
   * a member, its value must match.
   */
  readonly constants: Readonly<Record<string, string>>;
  /**
   * Members of API answers in addition to the computed attributes. In a request, these members are ignored,
   * except that a masked `url_user_information` is refused where the URL lacks its user information.
   */
  readonly apiMembers: readonly string[];
  /** Rules over more than one attribute. */
  readonly rules: readonly Rule[];
  /**
   * Last step of normalization, for a resource that is stored in another shape than users write it, such as a
   * channel.
   */
  arrange?(members: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /** The inverse of {@link arrange}. */
  present?(normalized: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /**
   * Warnings about valid attributes that are probably a mistake, without a full stop and without a secret.
   * For example, a password has no effect on a public page.
   */
  warnings?(normalized: Readonly<Record<string, unknown>>): readonly string[];
};

export type Attributes = Readonly<Record<string, Attribute>>;
export type Blocks = Readonly<Record<string, Block>>;

/** A type of value with its bounds. `schema` validates a value that is given, so it never sees null. */
export type Value<T = unknown> = {
  readonly type: 'string' | 'number' | 'bool' | 'set' | 'list' | 'map' | 'objects';
  readonly schema: z.ZodType<T>;
  /** Validates the value in the declared file, when a reference may stand in its place there. */
  readonly inFile?: z.ZodType<T>;
  readonly oneOf?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minimumLength?: number;
  readonly maximumLength?: number;
  /** Maximum number of members of a set, list or map. */
  readonly maximumItems?: number;
  readonly unit?: 'ms' | 'days';
  /** Kinds of resource that the value, or each of its members, refers to by id. */
  readonly references?: readonly string[];
  /** Members of each object of `objects`. */
  readonly attributes?: Attributes;
  /** Whether the text may have several lines. Forms then show a larger field. */
  readonly isMultiline?: boolean;
  /** The form of a valid value in a few words, such as `host:port`. */
  readonly form?: string;
  /** The secret part of a value, when the value is not secret as a whole. */
  readonly secretPart?: SecretPart;
};

/** A part of a text that is encrypted at rest, and masked for tokens that may only read. */
export type SecretPart = {
  /** Name of the part for people: `user information`. */
  readonly name: string;
  isIn(text: string): boolean;
  /** Replaces the part with `mask`. A text without the part stays as it is. */
  replaced(text: string, mask: string): string;
  /** Removes the part from the text, which is kept otherwise. */
  left(text: string): string;
  /**
   * Whether the mask stands in the place of any piece of the part. Without this function, the mask must stand
   * in the place of the whole part.
   */
  isMasked?(text: string, mask: string): boolean;
};

export type Presence = 'required' | 'optional' | 'default' | 'computed';

export type Attribute<T = unknown, P extends Presence = Presence> = {
  readonly value: Value<T>;
  readonly presence: P;
  /** Label in forms, when it differs from the name of the attribute. */
  readonly label?: string;
  /** Value of an omitted attribute. Set only with presence `default`. */
  readonly default?: unknown;
  readonly description: string;
  /**
   * Whether Terraform hides the attribute in all its output. A sensitive attribute is always `secret` too.
   */
  readonly sensitive: boolean;
  /** Whether the attribute is encrypted at rest, and masked for tokens that may only read. */
  readonly secret: boolean;
  /** Whether a change of the attribute replaces the object with a new one. */
  readonly replaces: boolean;
};

/**
 * A nested block. A `single` block occurs at most once, as a mapping. A `list` block occurs up to `maximum`
 * times.
 */
export type Block<A extends Attributes = Attributes, N extends 'single' | 'list' = 'single' | 'list'> = {
  readonly nesting: N;
  readonly maximum: number;
  readonly description: string;
  readonly attributes: A;
};

/**
 * A rule over several attributes. `check` sees the given members, each of which may be invalid or missing. It
 * returns every breach, with the attribute that the message names.
 */
export type Rule = {
  /** Description of the rule for the reference pages. */
  readonly description: string;
  check(given: Readonly<Record<string, unknown>>): readonly RuleBreach[];
  /** Breaches that are certain even while some of the values are not known yet, as during a plan. */
  checkUnknown?(given: Readonly<Record<string, unknown>>): readonly RuleBreach[];
};

export type RuleBreach = { readonly path: readonly (string | number)[]; readonly message: string };

type Meaning = { sensitive?: boolean; secret?: boolean; replaces?: boolean; label?: string };

function attribute<T, P extends Presence>(
  presence: P,
  value: Value<T>,
  description: string,
  { sensitive = false, secret = sensitive, replaces = false, label }: Meaning,
): Attribute<T, P> {
  const named = label === undefined ? {} : { label };
  return { value, presence, description, sensitive, secret, replaces, ...named };
}

export function required<T>(value: Value<T>, description: string, meaning: Meaning = {}) {
  return attribute('required', value, description, meaning);
}

/** Declares an attribute that is normalized to `null` when it is omitted. */
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

/** Declares an attribute that the service sets, never the user. */
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

/**
 * Normalized attributes. Defaults are applied, omitted attributes are null, and
 * computed attributes are absent.
 */
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

/**
 * Normalized blocks. A `list` block is a list, which may be empty. A `single` block is one object or null.
 */
export type NormalizedBlocks<B extends Blocks> = {
  [K in keyof B]: B[K]['nesting'] extends 'list'
    ? NormalizedAttributes<B[K]['attributes']>[]
    : NormalizedAttributes<B[K]['attributes']> | null;
};

/** The type of a normalized resource, by its definition. */
export type Normalized<D extends Pick<ResourceDefinition, 'attributes' | 'blocks' | 'constants'>> = {
  [K in keyof D['constants']]: D['constants'][K];
} & NormalizedAttributes<D['attributes']> &
  NormalizedBlocks<D['blocks']>;
