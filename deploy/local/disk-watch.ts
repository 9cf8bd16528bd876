import { statfs } from 'node:fs/promises';

const LOOK_EVERY_MS = 5_000;
const MEBIBYTE = 1024 ** 2;
/** Free space below which the disk counts as low, bytes. */
const LOW = 64 * MEBIBYTE;
/** Free space below which writes may have failed, bytes. */
const FULL = MEBIBYTE;
/** Free space from which a full disk counts as having room again, bytes. */
const ROOM = 4 * MEBIBYTE;

export type DiskState = 'ample' | 'low' | 'full';

/** The state for `free` bytes after the state `before`. A full disk stays full until it has some room. */
export function diskState(before: DiskState, free: number): DiskState {
  if (free < FULL) return 'full';
  if (before === 'full' && free < ROOM) return 'full';
  return free < LOW ? 'low' : 'ample';
}

/**
 * Checks the free space of the folder's disk regularly, and reports changes of its state. It misses a disk
 * that is full for less than the interval.
 *
 * @returns a function that ends the watch
 */
export function watchDisk(
  folder: string,
  onChange: (state: DiskState, before: DiskState, freeMebibytes: number) => void,
): () => void {
  let state: DiskState = 'ample';
  const look = async (): Promise<void> => {
    const { bavail, bsize } = await statfs(folder);
    const before = state;
    state = diskState(before, bavail * bsize);
    if (state !== before) onChange(state, before, Math.floor((bavail * bsize) / MEBIBYTE));
  };
  // A folder that cannot be checked does not count as full.
  const lookSafely = (): void => void look().catch(() => {});
  lookSafely();
  const timer = setInterval(lookSafely, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
