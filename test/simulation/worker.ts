import { runWorlds } from './run-worlds.ts';

/**
 * The entry of a process that runs a range of worlds. The range is
 * its argument, in JSON. It sends its statistics to the parent.
 */
process.send?.(await runWorlds(JSON.parse(process.argv[2] as string)));
process.disconnect?.();
