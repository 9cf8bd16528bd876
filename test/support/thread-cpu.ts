/**
 * Measures CPU time of this thread, ms; other threads and programs do not count.
 *
 * @returns the time since the call
 */
export function threadCpu(): () => number {
  const before = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };
}
