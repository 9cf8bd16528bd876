import { runWorlds } from './run-worlds.ts';

/** A process of its own for a range of worlds, which is its argument in JSON. Its statistics go to the parent. */
process.send?.(await runWorlds(JSON.parse(process.argv[2] as string)));
process.disconnect?.();
