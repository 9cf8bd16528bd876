/** Two histories, entry by entry; null where only the other one has it. */
export type Pair<T> = { readonly actual: T | null; readonly other: T | null };

/** Entries of two histories that are further apart are not the same event, ms: some periods of most monitors. */
const SAME_WITHIN_MS = 600_000;

/**
 * Puts two histories beside each other, the newest first. Entries of one kind that are close in time are the same
 * event; each is used once.
 *
 * @param actual, other newest first
 */
export function beside<T extends { readonly at: number }>(
  actual: readonly T[],
  other: readonly T[],
  isSameKind: (one: T, other: T) => boolean,
): Pair<T>[] {
  const left = [...other];
  const pairs = actual.map((entry): Pair<T> => {
    const index = left.findIndex(
      (candidate) => isSameKind(entry, candidate) && Math.abs(entry.at - candidate.at) <= SAME_WITHIN_MS,
    );
    return { actual: entry, other: index === -1 ? null : (left.splice(index, 1)[0] ?? null) };
  });
  return [...pairs, ...left.map((entry) => ({ actual: null, other: entry }))].sort(
    (a, b) => instantOf(b) - instantOf(a),
  );
}

function instantOf<T extends { readonly at: number }>({ actual, other }: Pair<T>): number {
  return (actual ?? other)?.at ?? 0;
}
