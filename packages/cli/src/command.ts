import { SvcError } from '@svc/shared/errors.ts';

/** The parts of the process that a command uses. */
export type Surroundings = {
  readonly environment: NodeJS.ProcessEnv;
  /** The output of the command. Messages go to `err`. */
  readonly out: Output;
  /** Messages for people. */
  readonly err: Output;
  /** Standard input; absent when there is none. */
  readonly input?: AsyncIterable<unknown> & { readonly isTTY?: boolean };
};

type Output = { write(text: string): unknown; readonly isTTY?: boolean };

export type Command = {
  readonly help: string;
  /** @throws UsageError, SettingsError, or another Error when the command failed */
  run(args: readonly string[], surroundings: Surroundings): Promise<void>;
};

type Run = Command['run'];

/**
 * Runs the action that the first argument names.
 *
 * @param command name of the command, for the error that lists its actions. A
 *   command has at least two actions
 */
export function runOf(command: string, actions: Readonly<Record<string, Run>>): Run {
  const used = Object.keys(actions).map((name) => `"${command} ${name}"`);
  const choices = `${used.slice(0, -1).join(', ')} or ${used.at(-1)}`;
  return async ([name = '', ...args], surroundings) => {
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined) throw new UsageError(`the action is missing: use ${choices}`);
    await action(args, surroundings);
  };
}

/** The command line or the settings are not usable. The command has done nothing. */
export class UsageError extends SvcError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('usage', message, options);
  }
}
