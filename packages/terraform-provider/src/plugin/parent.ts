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
 * Calls `onGone` when this process got another parent: Terraform was killed and will never send "shut down".
 * Standard input cannot tell, because it belongs to the user. On Windows the parent's id never changes.
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
