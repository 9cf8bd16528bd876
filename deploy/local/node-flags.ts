/**
 * Flags of Node for the processes of svc, as measured in docs/decisions/0159. The results of half a
 * second fit into the young generation. A bound on the old one keeps it from growing to several times what
 * lives. Collecting on one thread does not wait for cores that are busy, and one helper of V8 marks the heap
 * for half of what four take. The certificate store of the system is trusted beside Node's own list. The
 * scripts in package.json give the same flags.
 */
export const COORDINATOR_FLAGS = [
  '--max-semi-space-size=16',
  '--max-old-space-size=1024',
  '--no-parallel-scavenge',
  '--v8-pool-size=1',
  '--use-system-ca',
];

export const AGENT_FLAGS = ['--max-semi-space-size=4', '--max-old-space-size=256', '--use-system-ca'];

/**
 * What the coordinator's environment has beside its settings, unless the operator says otherwise (decision 0159):
 * glibc gives each of its threads an arena of its own, and what the start leaves behind in them is never given back.
 */
export const COORDINATOR_ENVIRONMENT = { MALLOC_ARENA_MAX: '2' };
