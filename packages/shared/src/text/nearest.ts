/**
 * The candidate that `word` was probably meant to be, or null when no candidate is near. A candidate is near
 * when at most a third of the letters of `word` differ. Case is ignored. In a word of one or two letters, no
 * letter may differ, because such a word resembles every short word.
 */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  const limit = Math.floor(word.length / 3);
  let best: string | null = null;
  let bestDistance = limit + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > limit) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * The distance of two texts: the number of insertions, deletions and substitutions of a code unit, and of
 * swaps of two neighbours (optimal string alignment).
 */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwap ? beforePrevious[j - 2]! + 1 : Number.POSITIVE_INFINITY;
      current.push(Math.min(substitution, swap, previous[j]! + 1, current[j - 1]! + 1));
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length]!;
}
