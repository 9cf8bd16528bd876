/**
 * Makes attempts that end in every way. Prints a line of JSON
 * for each way, with the part of the attempts that is kept:
 *
 *     node --expose-gc --min-semi-space-size=16 test/support/retention/main.ts
 *
 * It is a process of its own, because the watch of the tests for leaks (decision 0232)
 * keeps the stacks of timers and sockets, and with a stack the attempt that made them.
 */
import { randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { type Ballast, type Ending, startEndings } from './endings.ts';

/** The remains of attempts that have all ended. */
export type Left = {
  readonly name: string;
  /** Outcomes of the attempts. */
  readonly outcomes: readonly string[];
  /** Share of the attempts that outlived collections of the young generation, with all that they hold. */
  readonly moved: number;
  /** Number of attempts that outlive full collections. */
  readonly kept: number;
};

const ATTEMPTS = 32;
const AT_ONCE = 8;
/**
 * Size of the object that each attempt holds. V8 puts much larger objects into the old generation at once.
 */
const BALLAST_BYTES = 100 * 1_024;
/**
 * Number of full collections, one in each turn, after which an attempt that is still alive counts as kept.
 */
const COLLECTIONS = 10;

const gc = globalThis.gc;
if (gc === undefined) throw new TypeError('needs --expose-gc');

/** Makes `count` attempts, several at once, and calls `ended` after each group. */
async function attempt(
  end: Ending,
  count: number,
  { began, ended }: { began?: (ballast: Ballast) => void; ended?: () => void } = {},
): Promise<Set<string>> {
  const outcomes = new Set<string>();
  const one = async () => {
    const ballast = { text: randomBytes(BALLAST_BYTES).toString('latin1') };
    began?.(ballast);
    const { outcome, timedOut } = await end(ballast);
    outcomes.add(timedOut === true ? 'timed out' : outcome);
  };
  for (let made = 0; made < count; made += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    // Destroyed sockets close in the next turn.
    await turn();
    ended?.();
  }
  return outcomes;
}

/**
 * Measures the part of the attempts that moves to the old generation.
 * Objects that outlive two collections of the young generation move there.
 */
async function shareMoved(end: Ending): Promise<number> {
  gc?.();
  const before = oldGenerationBytes();
  await attempt(end, ATTEMPTS, { ended: () => gc?.({ type: 'minor' }) });
  gc?.({ type: 'minor' });
  return (oldGenerationBytes() - before) / (ATTEMPTS * BALLAST_BYTES);
}

function oldGenerationBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0;
}

/**
 * Counts the attempts that outlive full collections. It makes attempts of its
 * own, because collections of the young generation do not clear weak references.
 */
async function countKept(end: Ending): Promise<{ kept: number; outcomes: Set<string> }> {
  const references: WeakRef<Ballast>[] = [];
  const outcomes = await attempt(end, ATTEMPTS, {
    began: (ballast) => references.push(new WeakRef(ballast)),
  });
  let kept = ATTEMPTS;
  for (let count = 0; count < COLLECTIONS && kept > 0; count += 1) {
    // A weak reference that was read holds its object until the end of the turn.
    await turn();
    gc?.();
    kept = references.filter((reference) => reference.deref() !== undefined).length;
  }
  return { kept, outcomes };
}

const endings = await startEndings();
for (const [name, end] of Object.entries(endings.byName)) {
  // The first attempts load modules and authorities.
  await attempt(end, AT_ONCE);
  const moved = await shareMoved(end);
  const { kept, outcomes } = await countKept(end);
  const left: Left = { name, outcomes: [...outcomes], moved, kept };
  process.stdout.write(`${JSON.stringify(left)}\n`);
}
await endings.close();
