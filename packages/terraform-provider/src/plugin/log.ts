import { describeError } from './diagnostics.ts';

export type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** Lines for Terraform's log (TF_LOG). Never the value of an attribute. */
export type PluginLog = (level: Level, message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** JSON lines in the form of go-hclog, whose level Terraform keeps. */
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

/** Terraform takes a line whose timestamp has another number of digits as plain text of level debug. */
function inMicroseconds(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}

/** The stack frames of an error, without its message: the lines go to logs. */
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
 * The last output of a process: after its end, Terraform shows its user the text that follows a line starting
 * with `panic: `.
 */
export function panicText(error: unknown): string {
  return `panic: ${describeError(error).replaceAll(/\s+/g, ' ')}\n\n${framesOf(error)}\n`;
}
