import { constants, type Stats } from 'node:fs';
import { access, lstat, open, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isCode, messageOf, SvcError } from '@svc/shared/errors.ts';
import { replaceFile } from './replace-file.ts';

export type FileOptions = {
  /** Whether an existing file may be replaced. */
  readonly replaces: boolean;
  /** Whether only the owner may read the file. */
  readonly isSecret: boolean;
};

const THERE_ALREADY = 'the file exists; --force replaces it';

/**
 * Resolves a path against the folder in which the user called the command. `npm run`
 * starts the command in the project's folder, and names the user's folder in `INIT_CWD`.
 */
export function userPath(path: string, environment: NodeJS.ProcessEnv): string {
  return environment.npm_lifecycle_event === undefined
    ? resolve(path)
    : resolve(environment.INIT_CWD ?? '.', path);
}

async function requireAbsent(path: string): Promise<void> {
  // Any other problem of the path is reported when the file is written.
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  );
  if (isThere) throw new SvcError('file-not-written', `cannot write ${path}: ${THERE_ALREADY}`);
}

/**
 * Checks before other work that a file can be written later. The disk may still become full meanwhile.
 * Callers that write several files check all of them before, so that either all or none are written.
 *
 * @throws SvcError that says what to do
 */
export async function requireWritable(path: string, replaces: boolean): Promise<void> {
  if (!replaces) await requireAbsent(path);
  try {
    const found = await statOrNull(path);
    if (found?.isDirectory()) throw new SvcError('file-not-written', `${path} is a folder`);
    await access(found === null ? dirname(path) : path, constants.W_OK);
  } catch (error) {
    throw new SvcError('file-not-written', `cannot write ${path}: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Writes a file as a whole. On failure, a new file does not exist, and an existing file keeps its content.
 * A part of the new text may remain only in a file that must be overwritten in place ({@link overwrite}),
 * and in a path that is no regular file.
 *
 * @throws SvcError when the file cannot be written, or exists and may not be replaced
 */
export async function writeNewFile(path: string, text: string, options: FileOptions): Promise<void> {
  try {
    const former = options.replaces ? await statOrNull(path) : null;
    if (former === null) await create(path, text, options);
    else if (!former.isFile()) await writeFile(path, text);
    else await replace(await realpath(path), text, options.isSecret ? 0o600 : former.mode & 0o777);
  } catch (error) {
    const why = isCode(error, 'EEXIST') ? THERE_ALREADY : messageOf(error);
    throw new SvcError('file-not-written', `cannot write ${path}: ${why}`, { cause: error });
  }
}

async function create(path: string, text: string, { replaces, isSecret }: FileOptions): Promise<void> {
  // The flag "w" also accepts a path that is a link to a file that does not exist.
  const file = await open(path, replaces ? 'w' : 'wx', isSecret ? 0o600 : 0o666);
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    // A link stays. The file that was made where it leads is removed.
    await rm(await realpath(path), { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

async function replace(path: string, text: string, mode: number): Promise<void> {
  try {
    await replaceFile(path, text, mode);
  } catch (error) {
    // The folder belongs to another user, or only the file is mounted into a
    // container. In both cases, only the content of the file can be changed.
    if (!isCode(error, 'EACCES', 'EPERM', 'EROFS', 'EBUSY')) throw error;
    await overwrite(path, text, mode);
  }
}

/**
 * Overwrites the content of a file. The former text is not removed first, because on a full disk the new text
 * fits only into the place of the former text. If the former text was longer, the file is cut at the end.
 */
async function overwrite(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, 'r+');
  try {
    if (((await file.stat()).mode & 0o777) !== mode) await file.chmod(mode);
    await file.writeFile(text);
    await file.truncate(Buffer.byteLength(text));
    await file.sync();
  } finally {
    await file.close();
  }
}

const statOrNull = (path: string): Promise<Stats | null> =>
  stat(path).catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  });
