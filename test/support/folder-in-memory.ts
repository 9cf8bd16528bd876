import { tmpdir } from 'node:os';

/**
 * For databases whose disk is not what a test is about: a commit in memory is a tenth of the cost. The system's
 * temporary folder where there is no such folder, or outside of a run of tests.
 */
export function folderInMemory(): string {
  return process.env.TESTS_MEMORY ?? tmpdir();
}
