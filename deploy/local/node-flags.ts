/**
 * Flags of Node for the processes of svc, as measured in docs/decisions/0159.
 *
 * The results of half a second fit into the young generation. The bound of the old generation keeps it from
 * growing to several times its live size. No object begins in the old generation: what a check leaves behind lives for
 * a second at most. Collection on one thread does not wait for busy cores, and one
 * helper of V8 marks the heap for half the cost of four. Maglev, the compiler between the first and the best one, leaves 25 MiB
 * in glibc's heap of an agent; the coordinator needs it. Node trusts the certificate store of the system beside its own list. The scripts in package.json have the same flags.
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
 * Variables of the environment beside the settings, unless the operator sets them (decision 0159).
 * glibc gives each thread an arena of its own, and never returns the memory that the start leaves behind in
 * them. Blocks of 128 KiB and more are mapped by themselves at first. When glibc has freed a larger one, it takes all
 * smaller ones from its heap, and keeps them there.
 */
export const COORDINATOR_ENVIRONMENT = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' };
export const AGENT_ENVIRONMENT = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' };
