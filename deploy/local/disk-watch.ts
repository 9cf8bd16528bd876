import { statfs } from 'node:fs/promises';

const LOOK_EVERY_MS = 5_000;
const MEBIBYTE = 1024 ** 2;
/** Less than this is said, bytes. */
const LOW = 64 * MEBIBYTE;
/** With less than this, writing may have failed, bytes. */
const FULL = MEBIBYTE;
/** With this much, a disk that was full counts as having room again, bytes. */
const ROOM = 4 * MEBIBYTE;

export type DiskState = 'ample' | 'low' | 'full';

/** The state that `free` bytes make of the one before: a disk that was full must have some room before it is not. */
export function diskState(before: DiskState, free: number): DiskState {
  if (free < FULL) return 'full';
  if (before === 'full' && free < ROOM) return 'full';
  return free < LOW ? 'low' : 'ample';
}

/**
 * Looks at the free space of the folder's disk and tells when its state changes.
 *
 * @returns ends the watch
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
  // A folder that cannot be looked at is not full.
  const lookSafely = (): void => void look().catch(() => {});
  lookSafely();
  const timer = setInterval(lookSafely, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
