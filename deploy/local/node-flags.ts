/**
 * Flags of Node for the processes of svc, as measured in docs/decisions/0159.
 *
 * The results of half a second fit into the young generation. The limit of the old generation keeps it from
 * growing to several times its live size. No object is allocated in the old generation, because the garbage
 * of a check lives for a second at most. Collection on one thread does not wait for busy cores, and one
 * helper of V8 marks the heap for half the cost of four. Maglev, V8's middle compiler, leaves 25 MiB in
 * glibc's heap of an agent; the coordinator needs it. Node trusts the system's certificate store in addition
 * to its own list. The scripts in package.json have the same flags.
 */
export const COORDINATOR_FLAGS = [
  '--max-semi-space-size=8',
  '--max-old-space-size=1024',
  '--no-parallel-scavenge',
  '--no-allocation-site-pretenuring',
  '--v8-pool-size=1',
  '--use-system-ca',
];

export const AGENT_FLAGS = [
  '--max-semi-space-size=4',
  '--max-old-space-size=256',
  '--no-parallel-scavenge',
  '--no-allocation-site-pretenuring',
  '--no-maglev',
  '--v8-pool-size=1',
  '--use-system-ca',
];

/**
 * Variables of the environment beside the settings, unless the operator sets them (decision 0159). glibc
 * gives each thread an arena of its own, and never returns the memory that the start leaves behind there. At
 * first glibc maps each block of 128 KiB or more separately. When a larger block has been freed, it takes all
 * smaller blocks from its heap, and keeps them there; the threshold here prevents that.
 */
export const COORDINATOR_ENVIRONMENT = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' };
export const AGENT_ENVIRONMENT = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' };
