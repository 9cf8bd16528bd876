import { certificateFile } from './setting-schemas.ts';
import type { SettingsTable } from './settings.ts';

/** How probes and alerts reach what is outside: the same settings for agents and the coordinator. */
export const TRUST_SETTINGS = {
  probeCa: {
    name: 'SVC_PROBE_CA',
    description:
      "path of a PEM file with authorities that probes, alerts and exports trust beside those of Node and the system's store",
    schema: certificateFile.optional(),
  },
} as const satisfies SettingsTable;
