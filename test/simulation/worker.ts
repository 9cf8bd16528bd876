import { runWorlds } from './run-worlds.ts';

/** Node.js ends with this code when a promise is awaited that nothing settles any more. */
const NEVER_SETTLED = 13;

/**
 * The entry of a process that runs a range of worlds. The range is
 * its argument, in JSON. It sends its statistics to the parent.
 */
let running = 0;
process.on('exit', (code) => {
  if (code === NEVER_SETTLED) console.error(`the world of seed ${running} stands still`);
});
process.send?.(
  await runWorlds(JSON.parse(process.argv[2] as string), (seed) => {
    running = seed;
  }),
);
process.disconnect?.();
