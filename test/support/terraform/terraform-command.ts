import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Path of the real Terraform: `SVC_TEST_TERRAFORM`, or else the program on PATH, or else null. */
export function terraformBinary(): string | null {
  const named = process.env.SVC_TEST_TERRAFORM;
  if (named !== undefined && named !== '') return named;
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, 'terraform')).find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // It does not exist, or must not be run.
  }
}

export type CommandResult = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type RunningCommand = {
  readonly pid: number;
  /**
   * Sends a signal to the process group of the command, like
   * Ctrl-C in a terminal: to Terraform and the plug-ins.
   */
  signal(name: NodeJS.Signals): void;
  /** Resolves when stdout holds the text. */
  said(text: string): Promise<void>;
  readonly result: Promise<CommandResult>;
};

/** Starts a command of Terraform in a group of processes of its own. */
export function startTerraform(
  binary: string,
  args: readonly string[],
  options: { folder: string; environment: Readonly<Record<string, string>> },
): RunningCommand {
  const child = spawn(binary, args, {
    cwd: options.folder,
    env: options.environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const output = { stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const wake of waiting) wake();
    });
  }
  const result = once(child, 'close').then(([code]) => ({ code: code as number | null, ...output }));
  return {
    pid: child.pid ?? -1,
    signal: (name) => process.kill(-child.pid!, name),
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!output.stdout.includes(text)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        void result.then(() => reject(new Error(`ended without saying "${text}":\n${output.stdout}`)));
        look();
      }),
    result,
  };
}
