import type { Random } from '../simulation/random.ts';

/** Shorter inputs are split at every place. */
const ALL_PLACES = 48;

/**
 * The input cut into pieces in several ways: into two at every place (of a short input), into single bytes, and at
 * random places.
 */
export function* inPieces(input: Buffer, random: Random): Generator<Buffer[]> {
  if (input.length <= ALL_PLACES) {
    for (let at = 1; at < input.length; at += 1) yield cut(input, [at]);
  }
  if (input.length <= 8 * ALL_PLACES) yield cut(input, Array.from(input, (_, index) => index).slice(1));
  for (let count = 0; count < 4; count += 1) {
    const cuts = Array.from({ length: random.logarithmic(1, 12) }, () => random.between(0, input.length));
    yield cut(
      input,
      cuts.sort((a, b) => a - b),
    );
  }
}

function cut(input: Buffer, places: readonly number[]): Buffer[] {
  const bounds = [0, ...places, input.length];
  // The pieces are copies, so that a parser that keeps one cannot see its neighbour.
  return bounds.slice(1).map((end, index) => Buffer.from(input.subarray(bounds[index] as number, end)));
}
