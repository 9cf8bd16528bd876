import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { builtService } from './built-services.ts';
import { ROOT } from './process.ts';

/** Released versions whose services are kept under `test/fixtures/versions/`. */
export const VERSIONS = ['0.1'] as const;

export type Version = (typeof VERSIONS)[number] | 'today';

export type ServiceName = 'coordinator' | 'agent';

/**
 * The program of a service as a version had it: its bundle; that of an earlier version is unpacked.
 *
 * @param folder where bundles are unpacked to
 * @returns its path
 */
export async function programOf(service: ServiceName, version: Version, folder: string): Promise<string> {
  if (version === 'today') return builtService(service);
  const packed = await readFile(join(ROOT, 'test/fixtures/versions', version, `${service}.mjs.br`));
  const path = join(folder, `${service}-${version}.mjs`);
  await writeFile(path, brotliDecompressSync(packed));
  return path;
}
