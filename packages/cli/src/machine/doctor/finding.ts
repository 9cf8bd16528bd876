import { AGENT_SETTINGS, type AgentConfig } from '@svc/agent/config.ts';
import {
  COORDINATOR_SETTINGS,
  type CoordinatorConfig,
  checkCoordinatorSettings,
} from '@svc/coordinator/config.ts';
import { checkSharedSettings } from '@svc/shared/settings/common-settings.ts';
import { readEnvironment, SettingsError, type SettingsTable } from '@svc/shared/settings/environment.ts';

/**
 * The result of one check of the doctor. `skipped` means that there was nothing
 * to check or that the check was not possible; `todo` then says what to do to have it.
 */
export type Finding = {
  readonly check: CheckName;
  readonly level: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly what: string;
  /** Advice for the operator; empty when nothing needs to be done. */
  readonly todo: string;
};

/** Names of the doctor's checks. */
type CheckName =
  | 'process'
  | 'settings'
  | 'files'
  | 'disk'
  | 'database'
  | 'dns'
  | 'nats'
  | 'tls'
  | 'clock'
  | 'egress';

/** Returns functions that make findings of one check, one for each level. */
export function findingsOf(check: CheckName) {
  return {
    ok: (what: string): Finding => ({ check, level: 'ok', what, todo: '' }),
    warning: (what: string, todo: string): Finding => ({ check, level: 'warning', what, todo }),
    failed: (what: string, todo: string): Finding => ({ check, level: 'failed', what, todo }),
    skipped: (what: string, todo: string): Finding => ({ check, level: 'skipped', what, todo }),
  };
}

/** What the doctor examines: the process that would run on this machine with this environment. */
export type Subject = { readonly environment: NodeJS.ProcessEnv } & (
  | { readonly role: 'coordinator'; readonly config: CoordinatorConfig }
  | { readonly role: 'agent'; readonly config: AgentConfig }
);

export type Role = Subject['role'];

const { ok, warning, failed } = findingsOf('settings');

/** Advice where no settings were given at all, as by somebody who calls the doctor for the first time. */
const GIVE_FILE =
  'name the file with the settings by --env-file; beside "npm start", set SVC_NATS_URL_FILE=data/nats.url';

/**
 * Reads the settings as the process would. If they are wrong, the
 * subject is null, and checks that need the settings are not possible.
 */
export function subjectOf(
  role: Role,
  environment: NodeJS.ProcessEnv,
): { subject: Subject | null; findings: Finding[] } {
  try {
    if (role === 'agent') {
      const { values, warnings } = readEnvironment(AGENT_SETTINGS, environment, checkSharedSettings);
      return {
        subject: { role, config: values, environment },
        findings: findingsIn(AGENT_SETTINGS, role, warnings),
      };
    }
    const { values, warnings } = readEnvironment(COORDINATOR_SETTINGS, environment, checkCoordinatorSettings);
    return {
      subject: { role, config: values, environment },
      findings: findingsIn(COORDINATOR_SETTINGS, role, warnings),
    };
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const todo = `change it in the environment or the env file; the ${role} does not start before`;
    const advice = (problem: string): string =>
      problem.startsWith('SVC_NATS_URL is required') ? GIVE_FILE : todo;
    return { subject: null, findings: error.problems.map((problem) => failed(problem, advice(problem))) };
  }
}

function findingsIn(table: SettingsTable, role: Role, warnings: readonly string[]): Finding[] {
  return [
    ...warnings.map((text) => warning(text, 'change it, or leave it where it is meant')),
    ok(`the ${Object.keys(table).length} settings of the ${role} can be read`),
  ];
}
