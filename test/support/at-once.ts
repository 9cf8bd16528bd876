import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A shell command, and its name in messages. */
export type Part = {
  readonly name: string;
  readonly command: string;
  /**
   * Whether the output of the command is written at once, line
   * by line. It is set for the one command that takes minutes.
   */
  readonly isShown?: boolean;
};

/**
 * Runs the commands at once. The output of each command that is not shown is
 * written as one piece when the command ends, so that outputs do not mix.
 *
 * @param write takes the text for people
 * @returns the names of the commands that failed, in the order of `parts`
 */
export async function runAtOnce(parts: readonly Part[], write: (text: string) => void): Promise<string[]> {
  const outcomes = await Promise.all(parts.map((part) => run(part, write)));
  return parts.filter((_, index) => outcomes[index] !== 0).map(({ name }) => name);
}

/** Resolves with the exit code; null: a signal ended the command. */
async function run(
  { name, command, isShown = false }: Part,
  write: (text: string) => void,
): Promise<number | null> {
  const began = performance.now();
  const output = isShown ? 'inherit' : 'pipe';
  const child = spawn(command, { shell: true, stdio: ['ignore', output, output] });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  const how = code === 0 ? 'passed' : 'FAILED';
  write(`${Buffer.concat(chunks).toString('utf8')}${name}: ${how} after ${seconds} s\n`);
  return code;
}
