import {
  baseUrlProblem,
  firstToken,
  isReadableOnTheWay,
  tokenProblem,
} from '@svc/shared/api/client-settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { readEnvironment, SettingsError } from '@svc/shared/settings/environment.ts';
import type { SettingName } from '@svc/shared/settings/setting-names.ts';
import { fileVariantOf } from '@svc/shared/settings/setting-names.ts';
import { z } from 'zod';
import type { Diagnostic } from './provider.ts';
import type { Schema } from './schema.ts';
import { type TerraformObject, UNKNOWN } from './value.ts';

const DEFAULT_BASE_URL = 'http://127.0.0.1:8080';

/** The schema of the block `provider "svc"`. */
export const PROVIDER_SCHEMA: Schema = {
  version: 0,
  description: 'Monitors, notification channels and status pages of svc.',
  attributes: {
    api_token: {
      type: 'string',
      setting: 'optional',
      sensitive: true,
      description:
        'API token. It needs the scope `write`, or `read` where nothing is changed. The default is the environment variable `SVC_API_TOKEN`, or the file that `SVC_API_TOKEN_FILE` names.',
    },
    base_url: {
      type: 'string',
      setting: 'optional',
      sensitive: false,
      description: `Base URL of the API. The default is the environment variable \`SVC_BASE_URL\`, or else \`${DEFAULT_BASE_URL}\`.`,
    },
  },
  blocks: {},
};

/** A setting with its source, as words for a message to the user. */
export type Sourced<T = string> = { readonly value: T; readonly source: string };

export type ProviderSettings = { readonly token: Sourced<Secret>; readonly baseUrl: Sourced };

/** Arguments of the provider block whose value is known only after an apply. */
export type NotKnown = readonly ArgumentName[];
type ArgumentName = 'api_token' | 'base_url';

export type ReadSettings =
  | { readonly kind: 'known'; readonly settings: ProviderSettings }
  | { readonly kind: 'not-known'; readonly names: NotKnown }
  | { readonly kind: 'wrong'; readonly diagnostics: readonly Diagnostic[] };

type Argument = {
  readonly name: ArgumentName;
  readonly variable: SettingName;
  readonly fallback: string | null;
  readonly problemWith: (value: string) => string | null;
};

const API_TOKEN: Argument = {
  name: 'api_token',
  variable: 'SVC_API_TOKEN',
  fallback: null,
  problemWith: tokenProblem,
};

const BASE_URL: Argument = {
  name: 'base_url',
  variable: 'SVC_BASE_URL',
  fallback: DEFAULT_BASE_URL,
  problemWith: baseUrlProblem,
};

/**
 * Reads the provider's settings. Each setting comes from its argument, or from
 * the environment if the argument is not set. Messages never contain the token.
 */
export function readSettings(config: TerraformObject, environment: NodeJS.ProcessEnv): ReadSettings {
  const token = read(API_TOKEN, config, environment);
  const baseUrl = read(BASE_URL, config, environment);
  const wrong = [token, baseUrl].flatMap((setting) => (setting.kind === 'wrong' ? [setting.diagnostic] : []));
  if (wrong.length > 0) return { kind: 'wrong', diagnostics: wrong };
  if (token.kind === 'found' && baseUrl.kind === 'found') {
    const { value, source } = token.sourced;
    return {
      kind: 'known',
      settings: { token: { value: new Secret(value), source }, baseUrl: baseUrl.sourced },
    };
  }
  const names = [
    ...(token.kind === 'not-known' ? ['api_token' as const] : []),
    ...(baseUrl.kind === 'not-known' ? ['base_url' as const] : []),
  ];
  return { kind: 'not-known', names };
}

/** Warns of a plain HTTP address on another machine before the token is sent. */
export function plainHttpWarnings({ baseUrl }: ProviderSettings): readonly Diagnostic[] {
  if (!isReadableOnTheWay(baseUrl.value)) return [];
  const detail = `${baseUrl.value} (${baseUrl.source}) is plain HTTP to another machine: the token, and the secrets that are declared, can be read on the way. Use an address that starts with https://.`;
  return [{ severity: 'warning', summary: 'API token over plain HTTP', detail, path: ['base_url'] }];
}

type ReadSetting =
  | { readonly kind: 'found'; readonly sourced: Sourced }
  | { readonly kind: 'not-known' }
  | { readonly kind: 'wrong'; readonly diagnostic: Diagnostic };

function read(argument: Argument, config: TerraformObject, environment: NodeJS.ProcessEnv): ReadSetting {
  const { name, fallback, problemWith } = argument;
  const given = config[name] ?? null;
  if (given === UNKNOWN) return { kind: 'not-known' };
  const found =
    typeof given === 'string'
      ? { value: given, source: `the argument ${name} of the provider block` }
      : fromEnvironment(argument, environment);
  if (typeof found === 'string') return wrong(name, 'Invalid', found);
  if (found !== null) {
    const problem = problemWith(found.value);
    if (problem === null) return { kind: 'found', sourced: found };
    return wrong(name, 'Invalid', `${found.source[0]?.toUpperCase()}${found.source.slice(1)} ${problem}.`);
  }
  if (fallback !== null) return { kind: 'found', sourced: { value: fallback, source: 'the default' } };
  return wrong(name, 'Missing', missing(argument));
}

function wrong(name: ArgumentName, what: 'Invalid' | 'Missing', detail: string): ReadSetting {
  return {
    kind: 'wrong',
    diagnostic: { severity: 'error', summary: `${what} ${name}`, detail, path: [name] },
  };
}

/**
 * Reads a setting from the environment. Null: the variable is not set. A string: the problem with its value.
 */
function fromEnvironment({ variable }: Argument, environment: NodeJS.ProcessEnv): Sourced | string | null {
  try {
    const table = { setting: { name: variable, description: '', schema: z.string().optional() } };
    const { setting } = readEnvironment(table, environment).values;
    const value = setting instanceof Secret ? setting.reveal() : setting;
    if (value === undefined) return null;
    const isDirect = (environment[variable] ?? '') !== '';
    const source = isDirect
      ? `the environment variable ${variable}`
      : `the file that ${fileVariantOf(variable)} names`;
    return { value: isDirect ? value : firstToken(value), source };
  } catch (error) {
    if (error instanceof SettingsError) return `${error.problems.join('; ')}.`;
    throw error;
  }
}

function missing({ name, variable }: Argument): string {
  return `There is no ${name}: set it in the provider block, or set the environment variable ${variable} (or ${fileVariantOf(variable)} to the path of a file).`;
}
