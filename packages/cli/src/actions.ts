import type { Command } from './command.ts';
import { UsageError } from './usage-error.ts';

type Run = Command['run'];

/**
 * Runs the action that the first argument names.
 *
 * @param command name of the command, for the error that lists its actions, of which there are two at least
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
