import { join } from 'node:path';
import { stop } from 'esbuild';
import { buildService, type Service } from '../../deploy/build/services.ts';
import { madeOnce } from './made-once.ts';
import { ROOT } from './process.ts';

const SOURCES: Readonly<Record<Service, string>> = {
  coordinator: 'packages/coordinator/src/main.ts',
  agent: 'packages/agent/src/main.ts',
  svc: 'packages/cli/src/main.ts',
};

const SERVICES = Object.keys(SOURCES) as readonly Service[];

/**
 * The program of a service, for tests that start processes: the bundle of `npm run build`, made once in a run. A process
 * starts with it for half of the CPU time that its hundreds of sources take. `test/e2e/start.test.ts` starts these.
 *
 * @returns its path; outside of a run of tests that of the sources, which the benchmarks measure
 */
export async function builtService(service: Service): Promise<string> {
  if (process.env.TESTS_TMPDIR === undefined) return join(ROOT, SOURCES[service]);
  const { folder } = await madeOnce('svc-services', async (made) => {
    await Promise.all(SERVICES.map((each) => buildService(each, ROOT, made)));
    await stop();
  });
  return join(folder, `${service}.mjs`);
}
