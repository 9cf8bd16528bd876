import { type Logger, pino } from 'pino';
import { LogSink } from './log-sink.ts';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * Creates the logger of one process: JSON lines on stderr, so that stdout stays free for output that people
 * read.
 *
 * `part` names the process in every line (`coordinator`, `agent`). Logging never waits: lines that are not
 * read in time are dropped, and a line says how many.
 */
export function createLogger(part: string, level: string): Logger {
  const log = pino(
    { level, base: { part }, timestamp: () => `,"time":${Date.now()}`, errorKey: 'error' },
    new LogSink(process.stderr.fd, (lines) => log.warn({ lines }, LINES_DROPPED)),
  );
  return log;
}

const LINES_DROPPED =
  'log lines were lost: the reader of standard error is too slow, or the disk that it writes to is full';
