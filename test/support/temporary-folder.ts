import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Gives a whole run of tests one temporary folder, which goes with it: what a killed process or a failed
 * test leaves does not pile up in the system's.
 */
export default function setup(): (() => void) | undefined {
  if (process.env.TESTS_TMPDIR !== undefined) return undefined; // Every project of the run comes here.
  const folder = mkdtempSync(join(tmpdir(), 'svc-'));
  process.env.TESTS_TMPDIR = folder;
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
