import { randomBytes } from 'node:crypto';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Suffix of a draft. {@link replaceFile} writes a draft and then renames it. */
const DRAFT = /\.[0-9a-f]{12}$/;
/** A draft of this age was left by a killed process, ms. Writing a draft takes milliseconds. */
const DEAD_AFTER_MS = 10 * 60_000;

/**
 * Replaces a file, or creates it. Even if the process is killed or the machine loses its power,
 * the path has either the whole former content or the whole new content. When root replaces a
 * file, the file keeps its owner. Drafts that killed processes have left are removed.
 *
 * @param mode mode of the file, whatever the umask is; by default, only the owner may read it
 */
export async function replaceFile(path: string, text: string, mode = 0o600): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', mode);
  try {
    // `chmod` sets the mode whatever the umask is. If root replaces
    // a file, the file keeps its owner, the service's user.
    await file.chmod(mode);
    const former = await stat(path).catch(() => null);
    if (former !== null && process.getuid?.() === 0) await file.chown(former.uid, former.gid);
    await file.writeFile(text);
    await file.sync();
    await file.close();
    await rename(draft, path);
  } catch (error) {
    await file.close().catch(() => {}); // The file may be closed already. The first error is thrown below.
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
  await removeDrafts(dirname(path), (name) => name === basename(path), Date.now() - DEAD_AFTER_MS);
}

/**
 * Removes drafts that {@link replaceFile} has left because its process was killed. They may hold secrets.
 *
 * @param isOf returns whether the drafts of the file with this name are removed
 * @param before only drafts that were last written before this instant (epoch ms)
 *   are removed; Infinity when the caller knows that no other process writes a draft
 */
export async function removeDrafts(
  folder: string,
  isOf: (name: string) => boolean,
  before: number,
): Promise<void> {
  // A folder that this user may write to but may not list is left as it is.
  for (const name of await readdir(folder).catch(() => [])) {
    if (!DRAFT.test(name) || !isOf(name.replace(DRAFT, ''))) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => null); // The draft may have been renamed meanwhile.
    if (found?.isFile() && found.mtimeMs < before) await rm(path, { force: true });
  }
}

/** Makes the names of the folder's files durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
