import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Gives a whole run of tests one temporary folder, which is removed at the end: the remains of killed
 * processes and failed tests do not pile up in the system's folder.
 */
export default function setup(): (() => void) | undefined {
  if (process.env.TESTS_TMPDIR !== undefined) return undefined; // Every project of the run comes here.
  const folder = mkdtempSync(join(tmpdir(), 'svc-'));
  process.env.TESTS_TMPDIR = folder;
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
