import { destination, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * The logger of one process: JSON lines on stderr, so that stdout stays free for output people read.
 * `part` names the process in every line (`coordinator`, `agent`).
 */
export function createLogger(part: string, level: string): Logger {
  return pino(
    { level, base: { part }, timestamp: () => `,"time":${Date.now()}`, errorKey: 'error' },
    destination({ dest: 2, sync: true }),
  );
}
