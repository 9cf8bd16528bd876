import { z } from 'zod';
import { nearest } from '../text/nearest.ts';
import type { Attribute, Attributes, Block, NormalizedAttributes, ResourceDefinition } from './definition.ts';
import { expected, listOf, notOneOf, quoted } from './wording.ts';

/**
 * The source of the input. Over the API, read-only members are ignored, so that a client can send back an
 * answer. In the declared file, read-only members are refused, and an id may be a reference
 * (`${svc_http_monitor.api.id}`), which is resolved when the declaration is applied.
 */
export type Surface = 'api' | 'file';

/** One problem of an input. `path` leads to the wrong member, even when that member is missing. */
export type Issue = {
  readonly path: readonly (string | number)[];
  readonly message: string;
  /**
   * The message without the value, for values that must not be shown; absent: `message` repeats no text of
   * the input.
   */
  readonly unquoted?: string;
  /** Whether the member must not exist. Otherwise, its value is wrong. */
  readonly isUnknown?: true;
};

/**
 * The schema of a resource as users write it. Unknown members are refused, `null` means omitted, and the
 * output is normalized. Rules over several attributes are checked even when other members are wrong, so that
 * everything is reported at once.
 */
export function inputSchema<T>(definition: ResourceDefinition, surface: Surface): z.ZodType<T> {
  const written: z.ZodRawShape = {
    ...attributesShape(definition.attributes, surface),
    ...Object.fromEntries(
      Object.entries(definition.blocks).map(([name, block]) => [name, blockSchema(block, surface)]),
    ),
  };
  const members = [...Object.keys(written), ...Object.keys(definition.constants)];
  const readOnly = surface === 'api' ? readOnlyShape(definition) : {};
  return strictObject({ ...readOnly, ...written }, Object.keys(written), readOnlyNames(definition))
    .superRefine(
      (value, context) => {
        for (const breach of breaches(definition, value)) {
          context.addIssue({ code: 'custom', path: [...breach.path], message: breach.message });
        }
      },
      { when: () => true },
    )
    .transform((value) => {
      const all: Record<string, unknown> = { ...value, ...definition.constants };
      const normalized = Object.fromEntries(members.map((name) => [name, all[name]]));
      return (definition.arrange?.(normalized) ?? normalized) as T;
    });
}

/** The schema of the attributes of one object inside a resource, with the rules of {@link inputSchema}. */
export function attributesSchema<A extends Attributes>(
  attributes: A,
  surface: Surface = 'api',
): z.ZodType<NormalizedAttributes<A>> {
  const shape = attributesShape(attributes, surface);
  return strictObject(shape, Object.keys(shape)) as unknown as z.ZodType<NormalizedAttributes<A>>;
}

function attributesShape(attributes: Attributes, surface: Surface): z.ZodRawShape {
  return Object.fromEntries(
    Object.entries(attributes)
      .filter(([, attribute]) => attribute.presence !== 'computed')
      .map(([name, attribute]) => [name, attributeSchema(attribute, surface)]),
  );
}

function attributeSchema(attribute: Attribute, surface: Surface): z.ZodType {
  const { value, presence, description } = attribute;
  const schema = surface === 'file' ? (value.inFile ?? value.schema) : value.schema;
  if (presence === 'required') return schema.meta({ description });
  const fallback = attribute.default ?? null;
  return schema
    .nullish()
    .meta({ description, ...(presence === 'default' ? { default: fallback } : {}) })
    .transform((given) => given ?? fallback);
}

function blockSchema(block: Block, surface: Surface): z.ZodType {
  const { description } = block;
  const one = attributesSchema(block.attributes, surface);
  return block.nesting === 'single'
    ? one
        .nullish()
        .transform((given) => given ?? null)
        .meta({ description })
    : listOf(one, block.maximum)
        .nullish()
        .transform((given) => given ?? [])
        .meta({ description });
}

function readOnlyShape(definition: ResourceDefinition): z.ZodRawShape {
  return {
    ...Object.fromEntries(
      readOnlyNames(definition).map((name) => [name, z.unknown().optional().meta({ readOnly: true })]),
    ),
    ...Object.fromEntries(
      Object.entries(definition.constants).map(([name, constant]) => [
        name,
        z
          .literal(constant, {
            error: ({ input }) =>
              `is ${typeof input === 'string' ? quoted(input) : 'something else'}, but this resource's ${name} is "${constant}" and cannot be changed`,
          })
          .nullish(),
      ]),
    ),
  };
}

/** Names that only the service sets: the computed attributes, and members that only the API answers. */
function readOnlyNames({ attributes, apiMembers }: ResourceDefinition): string[] {
  const computed = Object.entries(attributes).filter(([, { presence }]) => presence === 'computed');
  return [...computed.map(([name]) => name), ...apiMembers];
}

/** The fault of a member that users may not set. */
export const SET_BY_THE_SERVICE = 'is set by the service: remove it';
const NOT_KNOWN = 'is unknown';
/**
 * Maximum number of unknown members for which the message names the nearest known
 * member. The search takes time.
 */
const MOST_HINTS = 20;

/**
 * The schema of an object that refuses unknown members. All unknown members of an object make one issue,
 * whose message has a line for each member. {@link issuesOf} splits the issue.
 */
function strictObject(shape: z.ZodRawShape, known: readonly string[], readOnly: readonly string[] = []) {
  const wrong = (name: string) => (readOnly.includes(name) ? SET_BY_THE_SERVICE : unknownMember(name, known));
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? (issue.keys as string[])
            .map((name, index) => (index < MOST_HINTS ? wrong(name) : NOT_KNOWN))
            .join('\n')
        : expected('a mapping')(issue),
  });
}

function unknownMember(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return meant === null
    ? `is unknown: allowed are ${known.join(', ')}`
    : `is unknown: did you mean "${meant}"?`;
}

/**
 * The breaches of the rules. The rules always see the constants, although only requests to the API may
 * contain them.
 */
function breaches({ rules, constants }: ResourceDefinition, value: unknown) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return rules.flatMap((rule) => [...rule.check({ ...value, ...constants })]);
}

/**
 * The problems of an input, in the order in which they were found. Each unknown member has an issue of its
 * own.
 */
export function issuesOf(error: z.ZodError): Issue[] {
  return error.issues.flatMap((issue): Issue[] => {
    const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
    if (issue.code === 'invalid_value') {
      return [{ path, message: issue.message, unquoted: notOneOf(issue.values) }];
    }
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
    const messages = issue.message.split('\n');
    return issue.keys.map((key, index) => ({
      path: [...path, key],
      message: messages[index] ?? NOT_KNOWN,
      isUnknown: true as const,
    }));
  });
}
