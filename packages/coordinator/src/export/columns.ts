type Column = Float64Array | Int32Array | Uint32Array | Int8Array | Uint8Array;

/** Columns grow by half: a copy of them is rare, and a third of them is unused at most. */
const GROWTH = 1.5;

/**
 * The column, or a larger copy of it where it is shorter than `length`. Numbers lie in columns where there are so many
 * of them that objects would keep the collector of garbage busy.
 */
export function withRoom<C extends Column>(column: C, length: number): C {
  if (length <= column.length) return column;
  const Kind = column.constructor as new (length: number) => C;
  const larger = new Kind(Math.max(length, Math.ceil(column.length * GROWTH)));
  larger.set(column);
  return larger;
}
