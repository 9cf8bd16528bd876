import { parseArgs } from 'node:util';
import { isId } from '@svc/shared/ids.ts';
import { nearest } from '@svc/shared/text/nearest.ts';
import { UsageError } from './command.ts';

/** An option with a value (`--format hcl`) or a switch (`--force`). */
type Option = {
  /** Name of the value, for the help. Absent for a switch, which has no value. */
  readonly value?: string;
  readonly oneOf?: readonly string[];
  /** Whether the option may occur several times. If so, all its values are returned, in their order. */
  readonly repeats?: true;
  /** What the option does, in one sentence, for the help. */
  readonly description: string;
};

export type Options = Readonly<Record<string, Option>>;

/** The values of the given options, by name. The value of a switch is `true`. */
export type Given<O extends Options> = {
  readonly [K in keyof O]?: O[K] extends { repeats: true }
    ? readonly string[]
    : O[K] extends { value: string }
      ? string
      : true;
};

/**
 * Reads the options of a command.
 *
 * @throws UsageError that names the wrong argument, and for
 *   an unknown option the option that was probably meant
 */
export function parseOptions<O extends Options>(args: readonly string[], options: O): Given<O> {
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries(options).map(([name, { value }]) => [
        name,
        { type: value === undefined ? 'boolean' : 'string' },
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given: Record<string, string | true | string[]> = {};
  for (const token of tokens) {
    if (token.kind === 'positional') throw new UsageError(`unexpected argument "${token.value}": see --help`);
    if (token.kind !== 'option') continue;
    const value = checked(token, options);
    const former = given[token.name];
    if (options[token.name]?.repeats !== true || typeof value !== 'string') given[token.name] = value;
    else given[token.name] = Array.isArray(former) ? [...former, value] : [value];
  }
  return given as Given<O>;
}

function checked(token: { name: string; rawName: string; value?: string | undefined }, options: Options) {
  const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
  if (option === undefined) {
    const meant = nearest(token.name, Object.keys(options));
    const hint = meant === null ? 'see --help' : `did you mean --${meant}?`;
    throw new UsageError(`there is no option ${token.rawName}: ${hint}`);
  }
  const { value } = token;
  if (option.value === undefined) {
    if (value !== undefined) throw new UsageError(`--${token.name} takes no value`);
    return true;
  }
  if (value === undefined || value === '')
    throw new UsageError(`--${token.name} needs a value: ${option.value}`);
  if (option.oneOf !== undefined && !option.oneOf.includes(value)) {
    throw new UsageError(`--${token.name} must be one of ${option.oneOf.join(', ')}, not "${value}"`);
  }
  return value;
}

/** Describes the options for `--help`, one per line. */
export function describeOptions(options: Options): string {
  const written = Object.entries(options).map(([name, { value, description }]) => ({
    usage: value === undefined ? `--${name}` : `--${name} ${value}`,
    description,
  }));
  const width = Math.max(...written.map(({ usage }) => usage.length));
  return written.map(({ usage, description }) => `  ${usage.padEnd(width)}  ${description}`).join('\n');
}

/**
 * Returns the id if it is one, and throws otherwise.
 *
 * @param what the kind of object, for the error
 * @param hint where users find the id, for the error
 * @throws UsageError when the text is absent or not an id
 */
export function requireId(id: string | undefined, what: string, hint: string): string {
  if (id !== undefined && isId(id)) return id;
  const isMissing = id === undefined || id === '' || id.startsWith('-');
  const problem = isMissing ? 'is missing' : `must be a number, not "${id}"`;
  throw new UsageError(`the id of the ${what} ${problem}: ${hint}`);
}
