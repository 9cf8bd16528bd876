import { z } from 'zod';
import {
  CHANNEL_BLOCKS,
  CHANNEL_KINDS,
  type ChannelKind,
  type ChannelSettings,
} from '../channels/settings.ts';
import { Secret } from '../secret.ts';
import type { Attribute, Attributes, Block, ResourceDefinition, Value } from './definition.ts';
import { DEFINITIONS, RESOURCE_KINDS, type ResourceKind, type Resources } from './registry.ts';

/*
 * Parses normalized attributes from the store. They were validated when they were written, and a bound that
 * has become narrower since does not make them wrong. So only their form is checked, on which the rest of the
 * code relies. A text may be the mask of a secret. A missing attribute is newer than the row, and gets its
 * default. Unknown members, which a newer version wrote, are dropped.
 */

type Forms = { readonly [K in ResourceKind]: z.ZodType<Resources[K]> };

/** Reads a resource's normalized attributes as they were stored. */
export function parseStored<K extends ResourceKind>(
  kind: K,
  value: object,
): z.ZodSafeParseResult<Resources[K]> {
  return isFormedAs(kind, value) ? { success: true, data: value } : FORMS[kind].safeParse(value);
}

const TESTS = new Map(RESOURCE_KINDS.map((kind) => [kind, isFormed(DEFINITIONS[kind])]));

function isFormedAs<K extends ResourceKind>(kind: K, value: unknown): value is Resources[K] {
  return TESTS.get(kind)?.(value) === true;
}

const FORMS = Object.fromEntries(RESOURCE_KINDS.map((kind) => [kind, formOf(DEFINITIONS[kind])])) as Forms;

function formOf({ attributes, blocks, constants, arrange }: ResourceDefinition): z.ZodType {
  const members = shapeOf(attributes);
  // A channel is arranged differently: the block of its kind is under `settings`.
  if (arrange !== undefined) return channelForm('provider_type', members, (settings) => settings);
  return z.object({
    ...members,
    ...Object.fromEntries(Object.entries(blocks).map(([name, block]) => [name, formOfBlock(block)])),
    ...Object.fromEntries(Object.entries(constants).map(([name, constant]) => [name, z.literal(constant)])),
  });
}

type OpenedChannel = {
  [K in ChannelKind]: { readonly kind: K; readonly settings: Secret<ChannelSettings[K]> };
}[ChannelKind];

/** The stored form of a channel: its kind and its normalized settings. */
export const storedChannel = channelForm('kind', {}, (settings) =>
  settings.transform((opened) => new Secret(opened)),
) as z.ZodType<OpenedChannel>;

/**
 * The schema of an object with the settings of one kind of channel. The member `discriminator` names the
 * kind.
 */
function channelForm(
  discriminator: string,
  members: z.ZodRawShape,
  of: (settings: z.ZodObject) => z.ZodType,
) {
  const [first, ...others] = CHANNEL_KINDS.map((kind) => {
    const settings = of(z.object(shapeOf(CHANNEL_BLOCKS[kind].attributes)));
    return z.object({ ...members, [discriminator]: z.literal(kind), settings });
  });
  return first === undefined ? z.never() : z.discriminatedUnion(discriminator, [first, ...others]);
}

function formOfBlock({ nesting, attributes }: Block): z.ZodType {
  const one = z.object(shapeOf(attributes));
  return nesting === 'list' ? z.array(one).default([]) : one.nullable().default(null);
}

function shapeOf(attributes: Attributes): z.ZodRawShape {
  const stored = Object.entries(attributes).filter(([, { presence }]) => presence !== 'computed');
  return Object.fromEntries(stored.map(([name, attribute]) => [name, formOfAttribute(attribute)]));
}

function formOfAttribute({ value, presence, default: fallback }: Attribute): z.ZodType {
  const form = formOfValue(value);
  switch (presence) {
    case 'optional':
      return form.nullable().default(null);
    case 'default':
      return form.default(fallback);
    case 'required':
    case 'computed':
      return form;
  }
}

function formOfValue({ type, oneOf, attributes = {} }: Value): z.ZodType {
  const text = oneOf === undefined ? z.string() : z.enum(oneOf);
  switch (type) {
    case 'string':
      return text;
    case 'number':
      return z.number();
    case 'bool':
      return z.boolean();
    case 'set':
    case 'list':
      return z.array(text);
    case 'map':
      return z.record(z.string(), text);
    case 'objects':
      return z.array(z.object(shapeOf(attributes)));
  }
}

/*
 * Tests whether a value has the form of stored attributes. A test makes no copy,
 * unlike the parser above, which takes five times as long (decision 0010). It
 * returns true only for values that the parser would return unchanged.
 */

type Test = (value: unknown) => boolean;

function isFormed({ attributes, blocks, constants }: ResourceDefinition): Test {
  return objectTest([
    ...testsOf(attributes),
    ...Object.entries(blocks).map(([name, block]): [string, Test] => [name, blockTest(block)]),
    ...Object.entries(constants).map(([name, constant]): [string, Test] => [
      name,
      (value) => value === constant,
    ]),
  ]);
}

/** Returns a test: whether a value is an object with exactly these members. */
function objectTest(members: readonly (readonly [name: string, is: Test])[]): Test {
  const tests = new Map(members);
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    let count = 0;
    for (const [name, member] of Object.entries(value)) {
      if (tests.get(name)?.(member) !== true) return false;
      count += 1;
    }
    return count === tests.size;
  };
}

function testsOf(attributes: Attributes): (readonly [string, Test])[] {
  const stored = Object.entries(attributes).filter(([, { presence }]) => presence !== 'computed');
  return stored.map(([name, attribute]) => [name, attributeTest(attribute)]);
}

function attributeTest({ value, presence }: Attribute): Test {
  const is = valueTest(value);
  return presence === 'optional' ? (given) => given === null || is(given) : is;
}

function blockTest({ nesting, attributes }: Block): Test {
  const is = objectTest(testsOf(attributes));
  return nesting === 'list' ? listTest(is) : (value) => value === null || is(value);
}

function valueTest({ type, oneOf, attributes = {} }: Value): Test {
  switch (type) {
    case 'string':
      return textTest(oneOf);
    case 'number':
      return Number.isFinite;
    case 'bool':
      return (value) => typeof value === 'boolean';
    case 'set':
    case 'list':
      return listTest(textTest(oneOf));
    case 'map':
      // A map is rare, and users choose its keys, so the slow parser checks it.
      return () => false;
    case 'objects':
      return listTest(objectTest(testsOf(attributes)));
  }
}

function textTest(oneOf: readonly string[] | undefined): Test {
  if (oneOf === undefined) return (value) => typeof value === 'string';
  const allowed = new Set<unknown>(oneOf);
  return (value) => allowed.has(value);
}

function listTest(is: Test): Test {
  return (value) => Array.isArray(value) && value.every(is);
}
