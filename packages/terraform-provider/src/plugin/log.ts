import { describeError } from './diagnostics.ts';

export type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** Writes a line to Terraform's log (TF_LOG). A line never contains the value of an attribute. */
export type PluginLog = (level: Level, message: string, fields?: Readonly<Record<string, unknown>>) => void;

/**
 * Creates a log that writes JSON lines in the format of
 * go-hclog, so that Terraform keeps the level of each line.
 */
export function createPluginLog(write: (line: string) => void): PluginLog {
  return (level, message, fields = {}) =>
    write(
      `${JSON.stringify({
        '@level': level,
        '@message': message,
        '@module': 'provider',
        '@timestamp': inMicroseconds(new Date()),
        ...fields,
      })}\n`,
    );
}

/**
 * The timestamp with microseconds. If a timestamp has another number
 * of digits, Terraform reads the line as plain text of level debug.
 */
function inMicroseconds(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}

/** The stack frames of an error for a log, without its message. */
export function framesOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { stack = '', message } = error;
  return stack
    .slice(Math.max(0, stack.indexOf(message)) + message.length)
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}

/**
 * The last output of a process that crashes. Terraform shows its
 * user a line that begins with `panic: ` and the lines after it.
 */
export function panicText(error: unknown): string {
  return `panic: ${describeError(error).replaceAll(/\s+/g, ' ')}\n\n${framesOf(error)}\n`;
}
