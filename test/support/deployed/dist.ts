import { copyFile, link } from 'node:fs/promises';
import { join } from 'node:path';
import { stop } from 'esbuild';
import { buildAgentExecutable } from '../../../deploy/build/agent-executable.ts';
import { sharedBuild } from '../built-services.ts';
import { madeOnce } from '../made-once.ts';
import { ROOT } from '../process.ts';

/** The output of `npm run build` for the services, one folder for all tests of a run. */
export type Dist = {
  readonly folder: string;
  /** The reason for which there is no single executable of the agent; null: there is one. */
  readonly withoutExecutable: string | null;
};

export async function sharedDist(): Promise<Dist> {
  const { folder, value } = await madeOnce('svc-dist', fill);
  return { folder, withoutExecutable: value };
}

async function fill(folder: string): Promise<string | null> {
  const { folder: built } = await sharedBuild();
  for (const name of ['coordinator.mjs', 'agent.mjs', 'svc.mjs', 'THIRD-PARTY-LICENSES.txt'])
    await link(join(built, name), join(folder, name));
  const withoutExecutable = await buildAgentExecutable(ROOT, folder);
  await stop();
  await copyFile(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  return withoutExecutable;
}
