import { tmpdir } from 'node:os';

/**
 * A folder in memory, for databases in tests whose subject is not the disk: a commit costs a tenth. It is the
 * system's temporary folder where there is no such folder, and outside of a run of tests.
 */
export function folderInMemory(): string {
  return process.env.TESTS_MEMORY ?? tmpdir();
}
