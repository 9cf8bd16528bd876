import { stat, statfs } from 'node:fs/promises';
import { messageOf, SvcError } from '@svc/shared/errors.ts';

const MIB = 1_024 ** 2;
/** For everything beside the database: keys, accounts, the manifest, and the folders. */
const RESERVE_BYTES = 2 * MIB;

/** SQLITE_FULL, https://www.sqlite.org/rescode.html#full */
const SQLITE_FULL = 13;
const WITHOUT_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Bytes that a copy of a database may need: it has what the journal holds, too. */
export async function sizeOfDatabase(path: string): Promise<number> {
  const sizes = [path, `${path}-wal`].map((file) => stat(file).catch(() => ({ size: 0 })));
  return (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
}

/**
 * Checks that a disk has room before anything is written to it: the database of the running service may be on it.
 *
 * @param bytes of the database
 * @throws SvcError `file-not-written`
 */
export async function requireRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bfree, bsize, blocks } = await statfs(folder);
  // Some file systems of networks say nothing of their size.
  if (blocks === 0) return;
  const free = (process.getuid?.() === 0 ? bfree : bavail) * bsize;
  const needed = bytes + RESERVE_BYTES;
  if (free < needed)
    throw withoutRoom(folder, `some ${inMib(needed)} are needed, and ${inMib(free)} are left`);
}

/** The error, or one that says what to do where the disk of the folder became full, or a quota was reached. */
export function explainedFull(error: unknown, folder: string): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, errcode } = cause as { code?: unknown; errcode?: unknown };
    const isFull =
      WITHOUT_ROOM.has(String(code)) || (typeof errcode === 'number' && (errcode & 0xff) === SQLITE_FULL);
    if (isFull) return withoutRoom(folder, messageOf(cause), error);
  }
  return error;
}

function withoutRoom(folder: string, why: string, cause?: unknown): SvcError {
  return new SvcError(
    'file-not-written',
    `there is no room in ${folder}: ${why}. Nothing was left there. Make room, or name a folder on another disk`,
    { cause },
  );
}

const inMib = (bytes: number): string => `${Math.ceil(bytes / MIB)} MiB`;
