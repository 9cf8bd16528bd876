/** Instants are stored as whole milliseconds, also where a clock has parts of them. */
export function wholeMs(instant: number): number {
  return Math.floor(instant);
}
