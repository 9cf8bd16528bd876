import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The folder in which Linux keeps files in memory. A container
 * may have only 64 MiB there, which some tests would fill.
 */
const IN_MEMORY = '/dev/shm';
const ROOM_BYTES = 2 ** 30;

/**
 * Gives a whole run of tests one temporary folder, and one in memory
 * (`folder-in-memory.ts`). Both are removed at the end: the remains of
 * killed processes and failed tests do not pile up in the system's folders.
 */
export default function setup(): (() => void) | undefined {
  if (process.env.TESTS_TMPDIR !== undefined) return undefined; // Every project of the run comes here.
  const folders = [mkdtempSync(join(tmpdir(), 'svc-'))];
  process.env.TESTS_TMPDIR = folders[0];
  process.env.TMPDIR = folders[0];
  if (hasRoomInMemory()) {
    const inMemory = mkdtempSync(join(IN_MEMORY, 'svc-'));
    process.env.TESTS_MEMORY = inMemory;
    folders.push(inMemory);
  }
  return () => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  };
}

function hasRoomInMemory(): boolean {
  if (!existsSync(IN_MEMORY)) return false;
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize >= ROOM_BYTES;
}
