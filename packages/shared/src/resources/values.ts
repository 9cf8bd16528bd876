import { z } from 'zod';
import { compareRegions, isRegionId, MOST_REGIONS, REGION_FORMAT, REGIONS, type Region } from '../regions.ts';
import type { Attributes, SecretPart, Value } from './definition.ts';
import { attributesSchema } from './input.ts';
import { declaredIdentifier, identifier, type TextCheck, wellFormed } from './texts.ts';
import { expected, listOf, tooMany, wrongChoice, wrongRegion } from './wording.ts';

/**
 * The types of values in definitions. Messages follow the attribute's name
 * (`periodicity: "2m" is not one of …`) and say what to do. Messages repeat only numbers and choices. They
 * never repeat a free text, which may be secret, or may come from the environment or a file (see
 * {@link TextCheck}).
 */

type TextBounds = {
  min?: number;
  max?: number;
  /** Maximum size in UTF-8, bytes. */
  maxBytes?: number;
  check?: TextCheck;
  form?: string;
  secretPart?: SecretPart;
  multiline?: boolean;
};

function textSchema({ min = 0, max, maxBytes, check }: TextBounds): z.ZodType<string, string> {
  return z
    .string({ error: expected('a string') })
    .superRefine((text, context) => {
      const wrong =
        tooFewCharacters(text, min) ??
        tooManyCharacters(text, max) ??
        wellFormed(text) ??
        tooManyBytes(text, maxBytes) ??
        check?.(text) ??
        null;
      if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
    })
    .meta({
      ...(min === 0 ? {} : { minLength: min }),
      ...(max === undefined ? {} : { maxLength: max }),
    });
}

function tooFewCharacters(text: string, min: number): string | null {
  if (text.length >= min) return null;
  return min === 1 ? 'must not be empty' : `must have at least ${min} characters`;
}

/**
 * Counts characters as JSON Schema and databases do: an emoji is one character,
 * although it has two units of UTF-16.
 */
function tooManyCharacters(text: string, max: number | undefined): string | null {
  if (max === undefined || text.length <= max) return null;
  let characters = 0;
  for (const _character of text) characters += 1;
  return characters > max ? `has ${characters} characters, but at most ${max} are allowed` : null;
}

function tooManyBytes(text: string, maxBytes: number | undefined): string | null {
  // A character has at most three bytes in UTF-8 for each of its UTF-16 units.
  if (maxBytes === undefined || text.length * 3 <= maxBytes) return null;
  const bytes = Buffer.byteLength(text);
  return bytes > maxBytes ? `has ${bytes} bytes, but at most ${maxBytes} are allowed` : null;
}

export function text(bounds: TextBounds = {}): Value<string> {
  return {
    type: 'string',
    schema: textSchema(bounds),
    ...(bounds.min === undefined ? {} : { minimumLength: bounds.min }),
    ...(bounds.max === undefined ? {} : { maximumLength: bounds.max }),
    ...(bounds.form === undefined ? {} : { form: bounds.form }),
    ...(bounds.multiline === undefined ? {} : { isMultiline: bounds.multiline }),
    ...(bounds.secretPart === undefined ? {} : { secretPart: bounds.secretPart }),
  };
}

function choiceSchema<const T extends readonly [string, ...string[]]>(options: T) {
  return z.enum(options, {
    error: ({ input }) =>
      typeof input === 'string' ? wrongChoice(input, options) : expected('a string')({ input }),
  });
}

export function choice<const T extends readonly [string, ...string[]]>(options: T): Value<T[number]> {
  return { type: 'string', schema: choiceSchema(options), oneOf: options };
}

type NumberBounds = { min: number; max: number; unit?: 'ms' | 'days'; fraction?: boolean };

export function number({ min, max, unit, fraction = false }: NumberBounds): Value<number> {
  const outside = ({ input }: { input?: unknown }) =>
    max === Number.MAX_SAFE_INTEGER && Number(input) < min
      ? `is ${input}, but must be ${min} or more`
      : `is ${input}, but must be from ${min} to ${max}`;
  const base = z.number({
    error: (issue) =>
      typeof issue.input === 'number' ? 'must be a finite number' : expected('a number')(issue),
  });
  const bounded = base.min(min, { error: outside }).max(max, { error: outside });
  return {
    type: 'number',
    schema: fraction ? bounded : whole(bounded, { min, max }),
    minimum: min,
    ...(max === Number.MAX_SAFE_INTEGER ? {} : { maximum: max }),
    ...(unit === undefined ? {} : { unit }),
  };
}

/** Requires a whole number. A number outside the bounds gets only the message about the bounds. */
function whole(
  bounded: z.ZodNumber,
  { min, max }: Pick<NumberBounds, 'min' | 'max'>,
): z.ZodType<number, number> {
  return bounded
    .superRefine((value, context) => {
      if (value < min || value > max || Number.isInteger(value)) return;
      context.addIssue({ code: 'custom', message: `is ${value}, but must be a whole number` });
    })
    .meta({ multipleOf: 1 });
}

export const bool: Value<boolean> = {
  type: 'bool',
  schema: z.boolean({ error: expected('a boolean') }),
};

/**
 * A set of regions. It is normalized to the order of the regions without repetitions, and an empty set to null.
 * Which regions of one's own there are is not known here, so any id that can be one is taken. `parseResource`
 * compares them with those of the installation.
 */
export const regionSet: Value<Region[] | null> = {
  type: 'set',
  schema: listOf(
    z
      .string({ error: expected('a string') })
      .meta({ format: REGION_FORMAT })
      .superRefine((region, context) => {
        if (!isRegionId(region)) context.addIssue({ code: 'custom', message: wrongRegion(region, REGIONS) });
      }),
    MOST_REGIONS,
    (region) => typeof region !== 'string' || !isRegionId(region),
  ).transform((members) => (members.length === 0 ? null : [...new Set(members)].sort(compareRegions))),
  maximumItems: MOST_REGIONS,
  form: `${REGIONS.map((region) => `\`${region}\``).join(', ')}, or a region of \`SVC_EXTRA_REGIONS\``,
};

/** The decimal id of a resource, as text. */
export function reference(...kinds: [string, ...string[]]): Value<string> {
  return {
    type: 'string',
    schema: textSchema({ check: identifier }),
    inFile: textSchema({ check: declaredIdentifier }),
    references: kinds,
  };
}

/** A set of ids. It is normalized to ascending order without repetitions. */
export function referenceSet(...kinds: [string, ...string[]]): Value<string[]> {
  const setOf = (check: TextCheck) =>
    listOf(
      textSchema({ check }),
      undefined,
      (entry) => typeof entry !== 'string' || check(entry) !== null,
    ).transform(sortedIds);
  return { type: 'set', schema: setOf(identifier), inFile: setOf(declaredIdentifier), references: kinds };
}

/**
 * Sorts ids in ascending order without repetitions. Unresolved references come after
 * the ids, ordered by code point.
 */
export function sortedIds(ids: readonly string[]): string[] {
  return [...new Set(ids)].sort((a, b) => {
    const numbers = Number(a) - Number(b);
    if (!Number.isNaN(numbers)) return numbers;
    const isNumber = Number(!/^\d/.test(a)) - Number(!/^\d/.test(b));
    return isNumber !== 0 ? isNumber : a < b ? -1 : 1;
  });
}

/** A list of texts. Their order is kept. */
export function textList(bounds: TextBounds & { maximumItems: number }): Value<string[]> {
  return {
    type: 'list',
    schema: listOf(textSchema(bounds), bounds.maximumItems),
    maximumItems: bounds.maximumItems,
    ...(bounds.form === undefined ? {} : { form: bounds.form }),
  };
}

/** A map of texts by name. `key` checks the names. */
export function textMap(
  maximumItems: number,
  key: TextCheck,
  value: TextBounds,
): Value<Record<string, string>> {
  return {
    type: 'map',
    schema: z.preprocess(
      (members, context) => {
        if (typeof members !== 'object' || members === null) return members;
        const count = Object.keys(members).length;
        if (count <= maximumItems) return members;
        context.addIssue({ code: 'custom', message: tooMany(count, maximumItems) });
        return z.NEVER;
      },
      z
        .record(z.string(), textSchema(value), { error: expected('a mapping') })
        .superRefine((members, context) => {
          for (const name of Object.keys(members)) {
            const wrong = key(name);
            if (wrong !== null) context.addIssue({ code: 'custom', path: [name], message: wrong });
          }
        }),
    ),
    maximumItems,
  };
}

/** A list of mappings with these attributes. */
export function objects<A extends Attributes>(maximumItems: number, attributes: A) {
  return {
    type: 'objects' as const,
    schema: listOf(attributesSchema(attributes), maximumItems),
    maximumItems,
    attributes,
  };
}
