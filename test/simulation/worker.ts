import { runWorlds } from './run-worlds.ts';

/** A process of its own for a range of worlds: `worker.ts SEED WORLDS`. Its statistics go to the parent. */
const [seed, worlds] = process.argv.slice(2).map(Number);
process.send?.(await runWorlds({ seed: seed ?? 1, worlds: worlds ?? 1 }));
process.disconnect?.();
