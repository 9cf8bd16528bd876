import { lstat, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf, SvcError } from '@svc/shared/errors.ts';

export type FileOptions = {
  /** Whether an existing file may be replaced. */
  readonly replaces: boolean;
  /** Only the owner may read it. */
  readonly isSecret: boolean;
};

const THERE_ALREADY = 'the file exists; --force replaces it';

/**
 * Resolves a path as the user wrote it: `npm run` starts programs in the project's folder, wherever the user
 * called it.
 */
export function userPath(path: string, environment: NodeJS.ProcessEnv): string {
  return environment.npm_lifecycle_event === undefined
    ? resolve(path)
    : resolve(environment.INIT_CWD ?? '.', path);
}

/**
 * Checks that a file is absent. It serves writes of several files, of which none is to be written when one
 * cannot be.
 *
 * @throws SvcError that says what to do when the file exists
 */
export async function requireAbsent(path: string): Promise<void> {
  // Other problems of the path are reported when it is written.
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  );
  if (isThere) throw new SvcError('file-not-written', `cannot write ${path}: ${THERE_ALREADY}`);
}

/** @throws SvcError that says what to do when the file exists */
export async function writeNewFile(path: string, text: string, options: FileOptions): Promise<void> {
  try {
    const file = await open(path, options.replaces ? 'w' : 'wx', options.isSecret ? 0o600 : 0o666);
    try {
      // Otherwise an existing file would keep its mode.
      if (options.isSecret) await file.chmod(0o600);
      await file.writeFile(text);
    } finally {
      await file.close();
    }
  } catch (error) {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    const why = isThere ? THERE_ALREADY : messageOf(error);
    throw new SvcError('file-not-written', `cannot write ${path}: ${why}`, { cause: error });
  }
}
