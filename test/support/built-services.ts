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
 * Makes the output of `npm run build`, without the files that contain Node, once in a run of tests.
 *
 * @returns the folder of the output, and the messages of the build
 */
export async function sharedBuild(): Promise<{ folder: string; said: readonly string[] }> {
  const { folder, value } = await madeOnce('svc-build', async (outDir) => {
    // The build is imported only by the test file that really builds.
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
 * Returns the program of a service, for tests that start processes: the bundle of `npm run
 * build`, made once in a run of tests. A process that starts from the bundle takes half of the
 * CPU time that its hundreds of sources would take. `test/e2e/start.test.ts` starts the sources.
 *
 * @returns path of the bundle; outside of a test run the path of the sources, which the benchmarks measure
 */
export async function builtService(service: Service): Promise<string> {
  if (process.env.TESTS_TMPDIR === undefined) return join(ROOT, SOURCES[service]);
  const { folder } = await sharedBuild();
  return join(folder, `${service}.mjs`);
}
