import { SvcError } from '@svc/shared/errors.ts';
import type { ResourceDefinition, Rule, RuleBreach } from '@svc/shared/resources/definition.ts';
import type { AttributePath, Diagnostic } from '../provider.ts';
import { ExactNumber, isObject, type TerraformObject, type TerraformValue, UNKNOWN } from '../value.ts';
import { diagnosticOf } from './diagnostic-text.ts';

/**
 * Breaches of the rules about several attributes. A rule that reads an
 * unknown value reports no breach. If the rule has a check for unknown values
 * (`checkUnknown`), that check decides, unless it reads an unknown value too.
 */
export function ruleProblems(definition: ResourceDefinition, config: TerraformObject): Diagnostic[] {
  const given = givenTo(definition, config);
  return definition.rules
    .flatMap((rule) => breachesOf(rule, given))
    .map(({ path, message }) =>
      diagnosticOf({
        path: pathOf(definition, config, path),
        message,
        isMissing: path.length > 0 && isAbsent(config[String(path[0])]),
        ...(path.length === 0 ? { subject: definition.title } : {}),
      }),
    );
}

/** Thrown when a rule reads an unknown value. */
const READ_UNKNOWN = new SvcError('unknown-read', 'an unknown value was read');

function breachesOf(rule: Rule, given: Readonly<Record<string, unknown>>): readonly RuleBreach[] {
  return (
    knownBreaches(() => rule.check(given)) ?? knownBreaches(() => rule.checkUnknown?.(given) ?? []) ?? []
  );
}

/** The breaches that a check finds; null: the check read an unknown value. */
function knownBreaches(check: () => readonly RuleBreach[]): readonly RuleBreach[] | null {
  try {
    return check();
  } catch (error) {
    if (error === READ_UNKNOWN) return null;
    throw error;
  }
}

/**
 * The members of a resource as the API would get them, with defaults. Reading an unknown member throws
 * {@link READ_UNKNOWN}.
 */
function givenTo(
  { attributes, blocks, constants }: ResourceDefinition,
  config: TerraformObject,
): Readonly<Record<string, unknown>> {
  const members: [string, TerraformValue][] = [
    ...Object.entries(constants),
    ...Object.entries(attributes)
      .filter(([, { presence }]) => presence !== 'computed')
      .map(([name, attribute]): [string, TerraformValue] => [
        name,
        config[name] ?? (attribute.default as TerraformValue | undefined) ?? null,
      ]),
    ...Object.entries(blocks).map(([name, { nesting }]): [string, TerraformValue] => {
      const configured = config[name] ?? [];
      return [name, nesting === 'single' && Array.isArray(configured) ? (configured[0] ?? null) : configured];
    }),
  ];
  return guarded({}, members) as Readonly<Record<string, unknown>>;
}

function guarded(target: object, members: readonly (readonly [string, TerraformValue])[]): object {
  for (const [name, value] of members) {
    const property: PropertyDescriptor =
      value === UNKNOWN
        ? {
            get: () => {
              throw READ_UNKNOWN;
            },
          }
        : { value: guardedValue(value) };
    Object.defineProperty(target, name, { ...property, enumerable: true });
  }
  return target;
}

function guardedValue(value: TerraformValue): unknown {
  if (value instanceof ExactNumber) return Number(value.text);
  if (Array.isArray(value)) return guarded([], Object.entries(value));
  return isObject(value) ? guarded({}, Object.entries(value)) : value;
}

function isAbsent(value: TerraformValue | undefined): boolean {
  return (value ?? null) === null || (Array.isArray(value) && value.length === 0);
}

/** The path of a breach in Terraform, where a single block is a list with one member. */
function pathOf(
  { blocks }: ResourceDefinition,
  config: TerraformObject,
  path: RuleBreach['path'],
): AttributePath {
  const [first, ...rest] = path;
  if (first === undefined || blocks[first]?.nesting !== 'single' || isAbsent(config[first])) return path;
  return [first, 0, ...rest];
}
