/**
 * Calls `task` `rate` times a second for `seconds`, in steps of a few milliseconds. A late step catches up.
 * Resolves after the last call, when work that the calls started may still run.
 */
export function pace(rate: number, seconds: number, task: () => void): Promise<void> {
  const total = rate * seconds;
  const start = performance.now();
  let done = 0;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(total, Math.floor(((performance.now() - start) / 1_000) * rate));
      while (done < due) {
        done += 1;
        task();
      }
      if (done >= total) {
        clearInterval(timer);
        resolve();
      }
    }, 5);
  });
}
