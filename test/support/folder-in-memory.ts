import { tmpdir } from 'node:os';

/**
 * Returns a folder in memory, for databases in tests whose subject is not the disk: a commit costs a tenth
 * there. If there is no such folder, and outside of a run of tests, it returns the system's temporary folder.
 */
export function folderInMemory(): string {
  return process.env.TESTS_MEMORY ?? tmpdir();
}
