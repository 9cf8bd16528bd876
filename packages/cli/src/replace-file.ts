import { randomBytes } from 'node:crypto';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Replaces a file, or creates it. Even if the process is killed or the machine loses its power, the path holds the
 * whole former content or the whole new one. The file keeps its owner.
 *
 * @param mode of the file; the default is for secrets: only the owner may read it
 */
export async function replaceFile(path: string, text: string, mode = 0o600): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', mode);
  try {
    // The mode does not depend on the umask. A file that root replaces stays with the service's user.
    await file.chmod(mode);
    const former = await stat(path).catch(() => null);
    if (former !== null && process.getuid?.() === 0) await file.chown(former.uid, former.gid);
    await file.writeFile(text);
    await file.sync();
    await file.close();
    await rename(draft, path);
  } catch (error) {
    await file.close().catch(() => {}); // It may be closed; the error below says what went wrong.
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Makes the names in the folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
