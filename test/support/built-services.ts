import { join } from 'node:path';
import type { Service } from '../../deploy/build/services.ts';
import { madeOnce } from './made-once.ts';
import { ROOT } from './process.ts';

const SOURCES: Readonly<Record<Service, string>> = {
  coordinator: 'packages/coordinator/src/main.ts',
  agent: 'packages/agent/src/main.ts',
  svc: 'packages/cli/src/main.ts',
};

/**
 * The output of `npm run build`, without the files that contain Node, made once in a run.
 *
 * @returns its folder, and the build's messages
 */
export async function sharedBuild(): Promise<{ folder: string; said: readonly string[] }> {
  const { folder, value } = await madeOnce('svc-build', async (outDir) => {
    // Only the file that really builds imports the build.
    const [{ buildAll }, { stop }] = await Promise.all([
      import('../../deploy/build/build-all.ts'),
      import('esbuild'),
    ]);
    const said: string[] = [];
    await buildAll({ root: ROOT, outDir, withStandalone: false, report: (line) => said.push(line) });
    // esbuild works in a process of its own.
    await stop();
    return said;
  });
  return { folder, said: value };
}

/**
 * The program of a service, for tests that start processes: the bundle of `npm run build`, made once in a run. A process
 * starts with it for half of the CPU time that its hundreds of sources take. `test/e2e/start.test.ts` starts these.
 *
 * @returns its path; outside a test run the path of the sources, which the benchmarks measure
 */
export async function builtService(service: Service): Promise<string> {
  if (process.env.TESTS_TMPDIR === undefined) return join(ROOT, SOURCES[service]);
  const { folder } = await sharedBuild();
  return join(folder, `${service}.mjs`);
}
