/**
 * Flags of Node for the processes of svc, as measured in docs/decisions/0066: a small young generation
 * keeps memory low, a bound on the old one keeps it from growing to several times what lives, and
 * collecting on one thread does not wait for cores that are busy. The certificate store of the system is trusted
 * beside Node's own list. The scripts in package.json give the
 * same flags.
 */
export const COORDINATOR_FLAGS = [
  '--max-semi-space-size=8',
  '--max-old-space-size=1024',
  '--no-parallel-scavenge',
  '--use-system-ca',
];

export const AGENT_FLAGS = ['--max-semi-space-size=4', '--max-old-space-size=256', '--use-system-ca'];
