import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isCode, messageOf, SvcError } from '@svc/shared/errors.ts';
import { z } from 'zod';
import { DATABASE_FILE } from './places.ts';

export const MANIFEST_FILE = 'manifest.json';

/** The list of the files in a backup. It is written last, so a backup without it is not complete. */
const manifest = z.object({
  v: z.literal(1),
  /** When the backup was made, ISO 8601. */
  made_at: z.string(),
  /** Version of svc that made the backup. */
  version: z.string(),
  /** Whether the secret key, the API token and the keys of NATS were left out. */
  without_keys: z.boolean().default(false),
  /** SHA-256 of each file, in hexadecimal, by the file's path in the backup. */
  files: z.record(z.string().regex(/^[\w-][\w.-]*(?:\/[\w-][\w.-]*)?$/), z.string()),
});
export type Manifest = z.infer<typeof manifest>;

/**
 * Reads the manifest of a backup and checks the files that it lists.
 *
 * @throws SvcError `bad-backup` that names the file at fault
 */
export async function checkedManifest(backup: string): Promise<Manifest> {
  const found = await read(join(backup, MANIFEST_FILE));
  for (const [name, expected] of Object.entries(found.files)) {
    const path = join(backup, name);
    const sum = await sha256Of(path).catch((error: unknown) => {
      if (isCode(error, 'ENOENT')) return null;
      throw new SvcError('bad-backup', `${path} cannot be read: ${messageOf(error)}`, { cause: error });
    });
    if (sum !== expected)
      throw new SvcError('bad-backup', `${path} was changed or cut since the backup was made`);
  }
  return found;
}

/** The members by which the manifest of a later version of svc is recognised, whatever else it contains. */
const later = z.object({ v: z.number().min(2), version: z.string().optional() });

async function read(path: string): Promise<Manifest> {
  try {
    const text: unknown = JSON.parse(await readFile(path, 'utf8'));
    const { success: isLater, data } = later.safeParse(text);
    if (isLater) {
      throw new SvcError(
        'bad-backup',
        `${path} is of a newer version of svc (${data.version ?? 'unknown'}): use that version or a later one`,
      );
    }
    const found = manifest.parse(text);
    if (!Object.hasOwn(found.files, DATABASE_FILE))
      throw new SvcError(
        'bad-backup',
        `${path} names no ${DATABASE_FILE}: this is no complete backup of svc`,
      );
    return found;
  } catch (error) {
    if (error instanceof SvcError) throw error;
    const isIncomplete =
      isCode(error, 'ENOENT') || error instanceof SyntaxError || error instanceof z.ZodError;
    const why = isIncomplete ? 'this is no complete backup of svc' : messageOf(error);
    throw new SvcError('bad-backup', `${path} cannot be read: ${why}`, { cause: error });
  }
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}
