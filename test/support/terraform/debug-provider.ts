import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { COMPILED } from './built-provider.ts';
import { type PluginCommand, temporaryFolder } from './plugin-process.ts';

/** A provider that serves any number of commands, as its developers run it. */
export type DebugProvider = {
  /** Value of `TF_REATTACH_PROVIDERS`. */
  readonly reattach: string;
  readonly pid: number;
  stop(): Promise<void>;
};

export async function startDebugProvider(
  { file, args }: PluginCommand,
  environment: Readonly<Record<string, string>> = {},
): Promise<DebugProvider> {
  const temporary = await temporaryFolder();
  const child = spawn(file, [...args, '--debug'], {
    env: {
      PATH: process.env.PATH ?? '',
      TMPDIR: temporary.path,
      ...COMPILED,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit').finally(temporary.remove);
  const value = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const found = /TF_REATTACH_PROVIDERS='(.*)'/.exec(line)?.[1];
      if (found !== undefined) resolve(found);
    });
    void ended.then(([code]) =>
      reject(new Error(`the provider ended with ${code} before it served anybody`)),
    );
  });
  return {
    reattach: value,
    pid: child.pid ?? -1,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
