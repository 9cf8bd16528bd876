import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { codeOf, SvcError } from '../errors.ts';
import { MASK, Secret } from '../secret.ts';
import { nearest } from '../text/nearest.ts';
import {
  fileVariantOf,
  isSecretSetting,
  KNOWN_VARIABLES,
  type SecretSettingName,
  type SettingName,
} from './setting-names.ts';

/** One environment variable of a process. */
export type Setting<Schema extends z.ZodType = z.ZodType> = {
  name: SettingName;
  /** Another spelling of a variable that programs spell in two ways. `name` has precedence. */
  otherName?: string;
  /** One sentence for people, shown by `--help`. */
  description: string;
  /** Text that is parsed when the variable is not set. */
  default?: string;
  /** Text that is shown as the default when there is no default to parse, such as `generated`. */
  defaultShown?: string;
  /** Whether the setting is only for svc's own processes. `--help` then leaves it out. */
  isInternal?: boolean;
  /** Parses the variable's text, which is `undefined` when the variable is not set and has no default. */
  schema: Schema;
};

export type SettingsTable = { readonly [key: string]: Setting };

/**
 * The parsed values under the table's keys. A secret value is a {@link Secret}, or undefined where it may be
 * unset.
 */
export type SettingsOf<Table extends SettingsTable> = {
  [K in keyof Table]: ValueOf<Table[K]['name'], z.output<Table[K]['schema']>>;
};

type ValueOf<Name extends SettingName, Value> = Name extends SecretSettingName
  ? Secret<Exclude<Value, undefined>> | Extract<Value, undefined>
  : Value;

/** A check over several settings. It runs only if each setting is valid by itself. */
export type SettingsCheck<Values> = (values: Values) => {
  /** Problems that prevent the start, one line each, as in {@link SettingsError}. */
  readonly problems: readonly string[];
  /** Warnings for the log at the start. */
  readonly warnings: readonly string[];
};

/** The environment cannot be used. `problems` has one line for each problem, and no line shows a secret. */
export class SettingsError extends SvcError {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      'bad-settings',
      `cannot start with these settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    );
    this.problems = problems;
  }
}

/**
 * Reads the settings of one process from its environment. An empty variable counts as unset. A secret may
 * come from the file that `<NAME>_FILE` names.
 *
 * @returns the parsed values under the table's keys, the warnings of `check`, and a warning for each `SVC_*`
 *   name that no part of svc knows. Such a name is no problem, because Kubernetes injects some
 * @throws SettingsError with the problems of all single settings or, if there are none, with all problems
 *   that `check` finds
 */
export function readEnvironment<Table extends SettingsTable>(
  table: Table,
  environment: NodeJS.ProcessEnv,
  check: SettingsCheck<SettingsOf<Table>> = () => ({ problems: [], warnings: [] }),
): { values: SettingsOf<Table>; warnings: string[] } {
  const problems: string[] = [];
  const values: { [key: string]: unknown } = {};
  for (const [key, setting] of Object.entries(table)) {
    const text = textOf(setting, environment);
    if ('problem' in text) {
      problems.push(text.problem);
      continue;
    }
    const value = text.value ?? setting.default;
    const parsed = setting.schema.safeParse(value);
    if (parsed.success) values[key] = kept(setting, parsed.data);
    else problems.push(problemOf(setting, value, parsed.error));
  }
  if (problems.length > 0) throw new SettingsError(problems);
  // Every key of the table was parsed by its own schema above.
  const all = values as SettingsOf<Table>;
  const checked = check(all);
  if (checked.problems.length > 0) throw new SettingsError(checked.problems);
  return { values: all, warnings: [...checked.warnings, ...unknownNames(environment)] };
}

/** Whether a process does not start without the setting. */
export function isRequired({ schema, default: fallback }: Setting): boolean {
  return fallback === undefined && !schema.safeParse(undefined).success;
}

/** The table as text for `--help`, in the table's order. */
export function describeSettings(table: SettingsTable): string {
  const shown = Object.values(table).filter((setting) => setting.isInternal !== true);
  const width = Math.max(...shown.map((setting) => setting.name.length));
  return shown
    .map((setting) => {
      const fallback = setting.defaultShown ?? setting.default;
      const notes = [
        isRequired(setting) ? 'required' : '',
        fallback === undefined ? '' : `default ${fallback}`,
        isSecretSetting(setting.name) ? `or ${fileVariantOf(setting.name)}` : '',
      ].filter((note) => note !== '');
      return `  ${setting.name.padEnd(width)}  ${setting.description}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`;
    })
    .join('\n');
}

function kept({ name }: Setting, value: unknown): unknown {
  return isSecretSetting(name) && value !== undefined ? new Secret(value) : value;
}

type Text = { value: string | undefined } | { problem: string };

function textOf({ name, otherName = name }: Setting, environment: NodeJS.ProcessEnv): Text {
  const direct = environment[name] || environment[otherName] || undefined;
  if (!isSecretSetting(name)) return { value: direct };
  const variant = fileVariantOf(name);
  const path = environment[variant] || undefined;
  if (path === undefined) return { value: direct };
  if (direct !== undefined) return { problem: `${name}: set either ${name} or ${variant}, not both` };
  try {
    // Editors and `echo` end a file with a line feed that is not part of the secret.
    const content = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    return content === '' ? { problem: `${variant}: the file is empty` } : { value: content };
  } catch (error) {
    // The path is not shown, because a user who confuses the two settings has put the secret there.
    const why = codeOf(error) || 'unknown reason';
    return { problem: `${variant}: cannot read the file that it names (${why})` };
  }
}

function problemOf(setting: Setting, value: string | undefined, error: z.ZodError): string {
  if (value === undefined) return `${setting.name} is required: ${setting.description}`;
  const what = error.issues.map((issue) => issue.message).join('; ');
  return isSecretSetting(setting.name)
    ? `${setting.name}: ${what}`
    : `${setting.name}: ${what} (got ${JSON.stringify(withoutCredentials(value))})`;
}

/** Hides credentials in a URL of a setting that should have none. */
function withoutCredentials(value: string): string {
  return value.replace(/:\/\/[^\s/?#]*@/g, `://${MASK}@`);
}

function unknownNames(environment: NodeJS.ProcessEnv): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('SVC_') && !KNOWN_VARIABLES.has(name))
    .sort()
    .map((name) => {
      const meant = nearest(name, KNOWN_VARIABLES);
      return `${name} is not a setting of svc${meant === null ? '' : `; did you mean ${meant}?`}`;
    });
}
