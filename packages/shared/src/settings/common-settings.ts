import { z } from 'zod';
import { LOG_LEVELS } from '../log.ts';
import { checkNatsSettings, type NatsConfig } from '../nats/nats-settings.ts';
import { type ExportTlsConfig, exportTlsProblem } from '../otlp/otlp-settings.ts';
import type { SettingsCheck, SettingsTable } from './environment.ts';
import { certificateFile, onOff } from './setting-schemas.ts';

/** Settings of the process, which agents and the coordinator share. */
export const PROCESS_SETTINGS = {
  logLevel: {
    name: 'SVC_LOG_LEVEL',
    description: `lowest level that is logged: ${LOG_LEVELS.join(', ')}`,
    default: 'info',
    schema: z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }),
  },
  isSupervised: {
    name: 'SVC_SUPERVISED',
    description: '1: the process ends when its supervisor is gone',
    default: '0',
    isInternal: true,
    schema: onOff,
  },
} as const satisfies SettingsTable;

/**
 * The settings that decide which servers probes, alerts and exports trust. Agents and the coordinator share
 * these settings.
 */
export const TRUST_SETTINGS = {
  probeCa: {
    name: 'SVC_PROBE_CA',
    description:
      "path of a PEM file with further authorities that probes, alerts and exports trust, in addition to the authorities of Node and of the system's store",
    schema: certificateFile.optional(),
  },
} as const satisfies SettingsTable;

/** Checks over several settings that the coordinator and agents share. */
export const checkSharedSettings: SettingsCheck<NatsConfig & ExportTlsConfig> = (config) => {
  const { problems, warnings } = checkNatsSettings(config);
  const ofExport = exportTlsProblem(config);
  return { problems: ofExport === null ? problems : [...problems, ofExport], warnings };
};
