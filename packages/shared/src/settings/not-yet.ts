import type { SettingName } from './setting-names.ts';

/**
 * Attributes, resources or settings that can be declared or set, are checked and
 * stored, and have no effect yet.
 */
export type NotYet = {
  /** The missing function, as text that follows "this version": `exports no traces`. */
  readonly reason: string;
  /** Names of attributes, in any resource. */
  readonly attributes?: readonly string[];
  /** Whole resources. Only the first resource gets a warning, because the others cannot exist without it. */
  readonly resources?: readonly `svc_${string}`[];
  readonly settings?: readonly (SettingName | `OTEL_${string}`)[];
};

/**
 * The one list of settings, attributes and resources that have no effect yet.
 *
 * When one of them is set, the API, the log at the start, the report of the declared file and Terraform show
 * a warning. The reference page marks it. When the missing function works, delete the entry here, which
 * removes the mark and all warnings.
 */
export const NOT_YET: readonly NotYet[] = [];

/** The settings that nothing reads yet, each with the reason. */
export const SETTINGS_NOT_YET: ReadonlyMap<string, string> = reasons(({ settings }) => settings);

const ATTRIBUTES: ReadonlyMap<string, string> = reasons(({ attributes }) => attributes);
const RESOURCES: ReadonlyMap<string, string> = reasons(({ resources }) => resources);
const WARNED: ReadonlyMap<string, string> = reasons(({ resources }) => resources?.slice(0, 1));

/** The description of an attribute or resource, marked when it has no effect yet. */
export function marked(name: string, description: string): string {
  const reason = ATTRIBUTES.get(name) ?? RESOURCES.get(name);
  return reason === undefined ? description : `${description} Has no effect yet: this version ${reason}.`;
}

/** Warnings about the parts of a declared resource that have no effect yet, without a full stop. */
export function notYet(kind: string, attributes: object): string[] {
  const whole = WARNED.get(kind);
  const found = whole === undefined ? [] : [warning(kind, whole)];
  const values = attributes as { readonly [name: string]: unknown };
  for (const [name, reason] of ATTRIBUTES) {
    if ((values[name] ?? null) !== null) found.push(warning(name, reason));
  }
  return found;
}

/**
 * Warnings about variables of the environment that have no effect yet. An empty variable counts as unset.
 * `<NAME>_FILE` counts as the name.
 */
export function settingsNotYet(environment: NodeJS.ProcessEnv): string[] {
  return [...SETTINGS_NOT_YET].flatMap(([name, reason]) =>
    [name, `${name}_FILE`].filter((each) => environment[each]).map((each) => warning(each, reason)),
  );
}

function warning(name: string, reason: string): string {
  return `${name} has no effect yet: this version ${reason}`;
}

function reasons(named: (entry: NotYet) => readonly string[] | undefined): ReadonlyMap<string, string> {
  return new Map(
    NOT_YET.flatMap((entry) => (named(entry) ?? []).map((name): [string, string] => [name, entry.reason])),
  );
}
