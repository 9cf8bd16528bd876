import { existsSync, readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { builtService } from './built-services.ts';
import { madeOnce } from './made-once.ts';
import { ROOT } from './process.ts';

/**
 * Folder with the programs of each released version, `<version>/coordinator.mjs.br`
 * and `<version>/agent.mjs.br`. They are the output of that version's `npm run
 * build`, compressed by brotli. A shallow clone has no history to build them from.
 */
const KEPT = join(ROOT, 'test/fixtures/versions');

/** The newest version with a folder; null: no version is released yet. */
export const RELEASED: string | null = existsSync(KEPT)
  ? (readdirSync(KEPT)
      .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
      .at(-1) ?? null)
  : null;

export type Version = 'released' | 'today';

/**
 * The path of a service's program. The program of the released version is unpacked once in a run of tests.
 */
export async function programOf(service: 'coordinator' | 'agent', version: Version): Promise<string> {
  if (version === 'today') return builtService(service);
  const { folder } = await madeOnce(`svc-${service}-${RELEASED}`, async (made) => {
    const packed = await readFile(join(KEPT, String(RELEASED), `${service}.mjs.br`));
    await writeFile(join(made, `${service}.mjs`), brotliDecompressSync(packed));
  });
  return join(folder, `${service}.mjs`);
}
