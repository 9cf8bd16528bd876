const MOST_TRIES = 600;
const MOST_MS = 2_000;

/** The shortest input, found by leaving parts out, for which `fails` is still true. */
export async function shrunk(input: Buffer, fails: (input: Buffer) => Promise<boolean>): Promise<Buffer> {
  let best = input;
  let tries = 0;
  const end = performance.now() + MOST_MS;
  for (let size = Math.ceil(best.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.length && tries < MOST_TRIES && performance.now() < end; ) {
      const shorter = Buffer.concat([best.subarray(0, at), best.subarray(at + size)]);
      tries += 1;
      if (await fails(shorter)) best = shorter;
      else at += size;
    }
  }
  return best;
}
