import { SvcError } from '@svc/shared/errors.ts';
import { nearest } from '@svc/shared/text/nearest.ts';

/** The parts of the process that a command uses. */
export type Surroundings = {
  readonly environment: NodeJS.ProcessEnv;
  /** Receives the output of the command. Messages go to `err`. */
  readonly out: Output;
  /** Receives messages for people. */
  readonly err: Output;
  /** Standard input; absent when there is none. */
  readonly input?: AsyncIterable<unknown> & { readonly isTTY?: boolean };
};

type Output = { write(text: string): unknown; readonly isTTY?: boolean };

export type Command = {
  readonly help: string;
  /**
   * Runs the command.
   *
   * @throws UsageError or SettingsError when the command is used wrongly; any other Error when it failed
   */
  run(args: readonly string[], surroundings: Surroundings): Promise<void>;
};

type Run = Command['run'];

/**
 * Returns the `run` function of a command with actions.
 * It runs the action that the first argument names.
 *
 * @param command name of the command, for the error that lists its actions
 * @param actions at least one action, by their names
 */
export function runOf(command: string, actions: Readonly<Record<string, Run>>): Run {
  const names = Object.keys(actions);
  const choices = CHOICES.format(names.map((name) => `"${command} ${name}"`));
  return async ([name = '', ...args], surroundings) => {
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action !== undefined) return await action(args, surroundings);
    if (name === '' || name.startsWith('-')) throw new UsageError(`the action is missing: use ${choices}`);
    const meant = nearest(name, names);
    const hint = meant === null ? `use ${choices}` : `did you mean "${command} ${meant}"?`;
    throw new UsageError(`there is no action ${name}: ${hint}`);
  };
}

/** Writes `a, b or c`. */
const CHOICES = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** The command line, the settings, or the files that they name are not usable. The exit code is 2. */
export class UsageError extends SvcError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('usage', message, options);
  }
}
