import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { z } from 'zod';

export const MANIFEST_FILE = 'manifest.json';

/** What a backup has. It is written last, so a backup without it is not complete. */
const manifest = z.object({
  v: z.literal(1),
  /** ISO 8601 */
  made_at: z.string(),
  /** Version of svc that made it. */
  version: z.string(),
  /** SHA-256 in hex, by the path in the backup. */
  files: z.record(z.string().regex(/^[\w-][\w.-]*(?:\/[\w-][\w.-]*)?$/), z.string()),
});
export type Manifest = z.infer<typeof manifest>;

/**
 * Reads the manifest of a backup and checks its files.
 *
 * @throws SvcError `bad-backup` that names the file at fault
 */
export async function checkedManifest(backup: string): Promise<Manifest> {
  const found = await read(join(backup, MANIFEST_FILE));
  for (const [name, expected] of Object.entries(found.files)) {
    const sum = await sha256Of(join(backup, name)).catch((error: unknown) => messageOf(error));
    if (sum !== expected)
      throw new SvcError('bad-backup', `${join(backup, name)} was changed or cut since the backup was made`);
  }
  return found;
}

async function read(path: string): Promise<Manifest> {
  try {
    return manifest.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    throw new SvcError('bad-backup', `${path} cannot be read: this is no complete backup of svc`, {
      cause: error,
    });
  }
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}
