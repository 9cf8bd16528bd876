import { baseUrlProblem, firstToken, tokenProblem } from '@svc/shared/api/client-settings.ts';
import type { SettingsOf, SettingsTable } from '@svc/shared/settings/environment.ts';
import { z } from 'zod';

/** The settings of the command line itself. Commands in `machine/` also use settings of the services. */
export const CLI_SETTINGS = {
  baseUrl: {
    name: 'SVC_BASE_URL',
    description: 'address of the API',
    default: 'http://127.0.0.1:8080',
    schema: withoutProblem(baseUrlProblem),
  },
  apiToken: {
    name: 'SVC_API_TOKEN',
    description: 'API token',
    defaultShown: 'the one that npm start generated on this machine',
    schema: z.string().transform(firstToken).pipe(withoutProblem(tokenProblem)).optional(),
  },
  dataDir: {
    name: 'SVC_DATA_DIR',
    description: 'data folder of npm start, where the generated token is',
    default: './data',
    schema: z.string(),
  },
  natsDir: {
    name: 'SVC_NATS_DIR',
    description: 'folder of the configuration of the NATS server and of its keys, which "svc region" keeps',
    defaultShown: 'nats-server in SVC_DATA_DIR',
    schema: z.string().optional(),
  },
} as const satisfies SettingsTable;

export type CliSettings = SettingsOf<typeof CLI_SETTINGS>;

function withoutProblem(problemOf: (text: string) => string | null) {
  return z.string().superRefine((text, context) => {
    const message = problemOf(text);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });
}
