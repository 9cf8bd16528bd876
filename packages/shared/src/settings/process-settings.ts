import { z } from 'zod';
import { LOG_LEVELS } from '../log.ts';
import type { SettingsTable } from './environment.ts';
import { onOff } from './setting-schemas.ts';

/** Settings of the process, for agents and the coordinator alike. */
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
