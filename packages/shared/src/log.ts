import { type Logger, pino } from 'pino';
import { LogSink } from './log-sink.ts';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * The logger of one process: JSON lines on stderr, so that stdout stays free for output people read.
 * `part` names the process in every line (`coordinator`, `agent`). Logging waits for nobody: lines that are
 * not read in time are dropped, and a line says how many.
 */
export function createLogger(part: string, level: string): Logger {
  const log = pino(
    { level, base: { part }, timestamp: () => `,"time":${Date.now()}`, errorKey: 'error' },
    new LogSink(process.stderr.fd, (lines) => log.warn({ lines }, LINES_DROPPED)),
  );
  return log;
}

const LINES_DROPPED =
  'lines of the log were lost: what reads standard error is too slow, or what it is written to is full';
