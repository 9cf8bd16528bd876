import type { SettingsTable } from './environment.ts';
import { certificateFile } from './setting-schemas.ts';

/** The settings that decide which servers probes and alerts trust; the same for agents and the coordinator. */
export const TRUST_SETTINGS = {
  probeCa: {
    name: 'SVC_PROBE_CA',
    description:
      "path of a PEM file with further authorities that probes, alerts and exports trust, beside those of Node and the system's store",
    schema: certificateFile.optional(),
  },
} as const satisfies SettingsTable;
