import { AGENT_SETTINGS } from '@svc/agent/config.ts';
import { COORDINATOR_SETTINGS } from '@svc/coordinator/config.ts';
import type { SettingsTable } from '@svc/shared/settings/environment.ts';
import { fileVariantOf, type SettingName } from '@svc/shared/settings/setting-names.ts';

/**
 * The parts of `npm start`. Each part gets only its own settings from the environment: an agent connects to
 * untrusted targets, so it must not know the API token or the key of the secrets.
 */
export type PartKind = 'coordinator' | 'agent' | 'server';

/**
 * Variables that any program may need: the places of programs, folders, languages, proxies and certificates.
 */
const COMMON =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|TZ|TMPDIR|TEMP|TMP|TERM|NO_COLOR|XDG_\w+|LC_\w+|NODE_\w+|SSL_CERT_\w+|(?:https?|no|all)_proxy|UV_THREADPOOL_SIZE|LD_LIBRARY_PATH)$/i;

export function environmentOf(kind: PartKind, environment: NodeJS.ProcessEnv): Record<string, string> {
  const entries = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && mayHave(kind, entry[0]),
  );
  return Object.fromEntries(entries);
}

function mayHave(kind: PartKind, name: string): boolean {
  if (kind === 'server') return COMMON.test(name);
  if (kind === 'agent') return COMMON.test(name) || OF_AGENT.has(name);
  // The coordinator gets all names but those of an agent alone: the declared file may insert any of them, and
  // svc warns of misspelt settings.
  return !OF_AGENT.has(name) || OF_COORDINATOR.has(name);
}

const OF_AGENT = namesOf(AGENT_SETTINGS);
const OF_COORDINATOR = namesOf(COORDINATOR_SETTINGS);

function namesOf(table: SettingsTable): ReadonlySet<string> {
  return new Set(
    Object.values(table).flatMap(({ name }: { name: SettingName }) => [name, fileVariantOf(name)]),
  );
}
