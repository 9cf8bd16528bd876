import {
  describeSettings,
  readEnvironment,
  type SettingsCheck,
  SettingsError,
  type SettingsOf,
  type SettingsTable,
} from '../settings/environment.ts';
import { settingsNotYet } from '../settings/not-yet.ts';

/**
 * The common shell of svc's long-running processes: it reads the settings, reports that the process is ready,
 * and ends it on a signal.
 */

/**
 * Reads the settings of the process; null when the process must end instead. With `--help`, the settings are
 * described on standard output. If settings are wrong, every problem is on standard error, and the exit code
 * is 1.
 *
 * @param name name of the process for people
 * @param args arguments of the process
 */
export function settingsOfProcess<T extends SettingsTable>(
  name: string,
  args: readonly string[],
  table: T,
  check?: SettingsCheck<SettingsOf<T>>,
): { values: SettingsOf<T>; warnings: string[] } | null {
  if (args.includes('--help')) {
    process.stdout.write(
      `The ${name} takes its settings from the environment:\n\n${describeSettings(table)}\n`,
    );
    return null;
  }
  try {
    const { values, warnings } = readEnvironment(table, process.env, check);
    return { values, warnings: [...warnings, ...settingsNotYet(process.env)] };
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
    return null;
  }
}

/** Calls `end` on SIGTERM, on SIGINT, and when the supervisor of a supervised process has gone. */
export function endWhenAsked({ isSupervised }: { isSupervised: boolean }, end: (why: string) => void): void {
  process.on('SIGTERM', () => end('SIGTERM'));
  process.on('SIGINT', () => end('SIGINT'));
  if (!isSupervised) return;
  // The supervisor holds the other end of the channel. Without the supervisor, nothing else would end this
  // process.
  if (process.connected) process.on('disconnect', () => end('the supervisor is gone'));
  else end('the supervisor is gone');
}

/**
 * The message with which a supervised process reports to its supervisor that it is ready. It is sent over the
 * channel between the two processes.
 */
const READY_MESSAGE = { event: 'ready' } as const;

export function isReadyMessage(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'event' in message && message.event === 'ready';
}

/**
 * Reports to the supervisor, if there is one, that the process is ready. The log cannot serve for this,
 * because it may be silent.
 */
export function sayReady(): void {
  if (!process.connected) return;
  // With a callback, `send` raises no `error` event. Without one, this process would crash if the supervisor
  // ended at this moment.
  process.send?.(READY_MESSAGE, undefined, undefined, () => {});
}
