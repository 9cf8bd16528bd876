import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { builtService } from './built-services.ts';
import { madeOnce } from './made-once.ts';
import { ROOT } from './process.ts';

/** Released versions whose services are kept under `test/fixtures/versions/`. */
export const VERSIONS = ['0.1'] as const;

export type Version = (typeof VERSIONS)[number] | 'today';

export type ServiceName = 'coordinator' | 'agent';

/**
 * The program of a service as a version had it: its bundle. That of an earlier version is unpacked once in a run, so that
 * Node has compiled it at its second start.
 *
 * @returns its path
 */
export async function programOf(service: ServiceName, version: Version): Promise<string> {
  if (version === 'today') return builtService(service);
  const { folder } = await madeOnce(`svc-${service}-${version}`, async (made) => {
    const packed = await readFile(join(ROOT, 'test/fixtures/versions', version, `${service}.mjs.br`));
    await writeFile(join(made, `${service}.mjs`), brotliDecompressSync(packed));
  });
  return join(folder, `${service}.mjs`);
}
