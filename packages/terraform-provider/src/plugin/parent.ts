const INTERVAL_MS = 1_000;

type Watch = {
  parentId(): number;
  every(intervalMs: number, check: () => void): { unref(): unknown };
};

const SYSTEM: Watch = {
  parentId: () => process.ppid,
  every: (intervalMs, check) => setInterval(check, intervalMs),
};

/**
 * Calls `onGone` when this process gets another parent, which means that Terraform was
 * killed and will never call Shutdown. The end of standard input does not show this,
 * because standard input is the user's terminal. On Windows the parent's id never changes.
 */
export function watchParent(onGone: () => void, { parentId, every }: Watch = SYSTEM): void {
  const parent = parentId();
  let isGone = false;
  every(INTERVAL_MS, () => {
    if (isGone || parentId() === parent) return;
    isGone = true;
    onGone();
  }).unref();
}
