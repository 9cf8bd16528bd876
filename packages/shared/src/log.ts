import { type Logger, type LoggerOptions, pino } from 'pino';
import { LogSink } from './log-sink.ts';
import type { RecentErrors } from './recent-errors.ts';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * Creates the logger of one process: JSON lines on stderr, so that stdout stays free for output that people
 * read.
 *
 * `part` names the process in every line (`coordinator`, `agent`). Logging never waits: lines that are not
 * read in time are dropped, and a line says how many.
 *
 * @param errors notes the lines of level `error` and above that are logged
 */
export function createLogger(part: string, level: string, errors: RecentErrors | null = null): Logger {
  const log = pino(
    {
      level,
      base: { part },
      timestamp: () => `,"time":${Date.now()}`,
      errorKey: 'error',
      ...(errors === null ? {} : { hooks: { logMethod: noting(errors) } }),
    },
    new LogSink(process.stderr.fd, (lines) => log.warn({ lines }, LINES_DROPPED)),
  );
  return log;
}

const LINES_DROPPED =
  'log lines were lost: the reader of standard error is too slow, or the disk that it writes to is full';

const ERROR = 50;

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

function noting(errors: RecentErrors): LogMethod {
  return function note(args, method, level) {
    if (level >= ERROR) {
      const [members, message] = args as readonly unknown[];
      if (typeof members === 'string') errors.add(null, members, Date.now());
      else errors.add(members, String(message ?? ''), Date.now());
    }
    method.apply(this, args);
  };
}
