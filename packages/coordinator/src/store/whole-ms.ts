/** Instants are stored as whole milliseconds; some clocks have fractions. */
export function wholeMs(instant: number): number {
  return Math.floor(instant);
}
