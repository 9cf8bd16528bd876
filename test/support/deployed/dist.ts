import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stop } from 'esbuild';
import { buildAgentExecutable } from '../../../deploy/build/agent-executable.ts';
import { buildService } from '../../../deploy/build/services.ts';
import { ROOT } from '../process.ts';

/** The output of `npm run build` for the services, in a folder of its own. */
export type Dist = {
  readonly folder: string;
  /** The reason for which there is no single executable of the agent; null: there is one. */
  readonly withoutExecutable: string | null;
  remove(): Promise<void>;
};

export async function buildDist(): Promise<Dist> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-dist-'));
  await Promise.all(
    (['coordinator', 'agent', 'svc'] as const).map((name) => buildService(name, ROOT, folder)),
  );
  const withoutExecutable = await buildAgentExecutable(ROOT, folder);
  await stop();
  await copyFile(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  // The whole build also bundles the provider, whose licences are in this file too.
  await writeFile(join(folder, 'THIRD-PARTY-LICENSES.txt'), 'of the test\n');
  return { folder, withoutExecutable, remove: () => rm(folder, { recursive: true }) };
}
