import { baseUrlProblem, tokenProblem } from '@svc/shared/api/settings.ts';
import type { SettingName } from '@svc/shared/setting-names.ts';
import { fileVariantOf } from '@svc/shared/setting-names.ts';
import { readEnvironment, SettingsError } from '@svc/shared/settings.ts';
import { z } from 'zod';
import type { Diagnostic } from './provider.ts';
import type { Schema } from './schema.ts';
import { type TerraformObject, UNKNOWN } from './value.ts';

export const DEFAULT_BASE_URL = 'http://127.0.0.1:8080';

/** The block `provider "svc"`. */
export const PROVIDER_SCHEMA: Schema = {
  version: 0,
  description: 'Monitors, notification channels and status pages of svc.',
  attributes: {
    api_token: {
      type: 'string',
      setting: 'optional',
      sensitive: true,
      description:
        'API token; of scope write, except to read only. Without it the environment variable `SVC_API_TOKEN` is taken, or the file that `SVC_API_TOKEN_FILE` names.',
    },
    base_url: {
      type: 'string',
      setting: 'optional',
      sensitive: false,
      description: `Base URL of the API. Without it the environment variable \`SVC_BASE_URL\` is taken, else \`${DEFAULT_BASE_URL}\`.`,
    },
  },
  blocks: {},
};

/** A setting with where it came from, as a message names it. */
export type Sourced = { readonly value: string; readonly source: string };

export type ProviderSettings = { readonly token: Sourced; readonly baseUrl: Sourced };

/** Arguments of the provider block whose value is only known after an apply. */
export type NotKnown = readonly ArgumentName[];
type ArgumentName = 'api_token' | 'base_url';

export type ReadSettings =
  | { readonly kind: 'known'; readonly settings: ProviderSettings }
  | { readonly kind: 'not-known'; readonly names: NotKnown }
  | { readonly kind: 'wrong'; readonly diagnostics: readonly Diagnostic[] };

/** The provider's settings: each from its argument, else from the environment. Never tells the token. */
export function readSettings(config: TerraformObject, environment: NodeJS.ProcessEnv): ReadSettings {
  const token = sourced('api_token', 'SVC_API_TOKEN', undefined, config, environment);
  const baseUrl = sourced('base_url', 'SVC_BASE_URL', DEFAULT_BASE_URL, config, environment);
  const diagnostics = [
    ...problems('api_token', token, tokenProblem),
    ...problems('base_url', baseUrl, baseUrlProblem),
  ];
  if (diagnostics.length > 0) return { kind: 'wrong', diagnostics };
  if (token.kind === 'found' && baseUrl.kind === 'found') {
    return { kind: 'known', settings: { token: token.sourced, baseUrl: baseUrl.sourced } };
  }
  const names = [
    ...(token.kind === 'not-known' ? ['api_token' as const] : []),
    ...(baseUrl.kind === 'not-known' ? ['base_url' as const] : []),
  ];
  return { kind: 'not-known', names };
}

type Found =
  | { readonly kind: 'found'; readonly sourced: Sourced }
  | { readonly kind: 'not-known' }
  | { readonly kind: 'wrong'; readonly message: string };

function sourced(
  argument: ArgumentName,
  variable: SettingName,
  fallback: string | undefined,
  config: TerraformObject,
  environment: NodeJS.ProcessEnv,
): Found {
  const given = config[argument] ?? null;
  if (given === UNKNOWN) return { kind: 'not-known' };
  if (typeof given === 'string') {
    const source = `the argument ${argument} of the provider block`;
    return { kind: 'found', sourced: { value: given, source } };
  }
  try {
    const table = { setting: { name: variable, description: '', schema: z.string().optional() } };
    const value = readEnvironment(table, environment).values.setting;
    if (value !== undefined)
      return { kind: 'found', sourced: { value, source: sourceOf(variable, environment) } };
  } catch (error) {
    if (error instanceof SettingsError) return { kind: 'wrong', message: error.problems.join('; ') };
    throw error;
  }
  return fallback === undefined
    ? { kind: 'wrong', message: missing(argument, variable) }
    : { kind: 'found', sourced: { value: fallback, source: 'the default' } };
}

function sourceOf(variable: SettingName, environment: NodeJS.ProcessEnv): string {
  return environment[variable]
    ? `the environment variable ${variable}`
    : `the file that ${fileVariantOf(variable)} names`;
}

function missing(argument: string, variable: SettingName): string {
  return `There is no ${argument}: set it in the provider block, or set the environment variable ${variable} (or ${fileVariantOf(variable)} to the path of a file).`;
}

function problems(
  argument: ArgumentName,
  found: Found,
  problemWith: (value: string) => string | null,
): Diagnostic[] {
  const detail =
    found.kind === 'wrong'
      ? found.message
      : found.kind === 'found'
        ? judged(found.sourced, problemWith)
        : null;
  return detail === null
    ? []
    : [{ severity: 'error', summary: `Invalid ${argument}`, detail, path: [argument] }];
}

function judged({ value, source }: Sourced, problemWith: (value: string) => string | null): string | null {
  const problem = problemWith(value);
  return problem === null ? null : `${source[0]?.toUpperCase()}${source.slice(1)} ${problem}.`;
}
