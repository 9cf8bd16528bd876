/**
 * Measures CPU time of this thread, ms: what other threads and programs do meanwhile does not count.
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
