import { copyFile, link, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stop } from 'esbuild';
import { buildAgentExecutable } from '../../../deploy/build/agent-executable.ts';
import { builtService } from '../built-services.ts';
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
  for (const service of ['coordinator', 'agent', 'svc'] as const)
    await link(await builtService(service), join(folder, `${service}.mjs`));
  const withoutExecutable = await buildAgentExecutable(ROOT, folder);
  await stop();
  await copyFile(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  // The whole build also bundles the provider, whose licences are in this file too.
  await writeFile(join(folder, 'THIRD-PARTY-LICENSES.txt'), 'of the test\n');
  return withoutExecutable;
}
