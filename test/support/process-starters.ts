import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** A file of the tests: a test, or what supports tests. Imports of production files are not followed. */
const OF_TESTS = /\.test\.ts$|^test\//;

/** Modules whose importers start processes. */
const STARTING: ReadonlySet<string> = new Set(['node:child_process', 'esbuild']);

/**
 * The test files that start processes: they, or the support code that they import, import
 * `node:child_process` or esbuild. The quick check leaves them out.
 *
 * @param patterns globs, from `root`
 */
export function processStarters(root: string, patterns: readonly string[]): string[] {
  const known = new Map<string, boolean>();

  function starts(file: string): boolean {
    const before = known.get(file);
    if (before !== undefined) return before;
    known.set(file, false); // A circle starts nothing by itself.
    const found = importsOf(root, file).some(
      (target) => STARTING.has(target) || (OF_TESTS.test(target) && starts(target)),
    );
    known.set(file, found);
    return found;
  }

  return globSync([...patterns], { cwd: root })
    .filter((file) => starts(file))
    .sort();
}

/** The imports of a file: relative ones as paths from the root, others as they are written. */
function importsOf(root: string, file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/^(?:import |export |\} )?.*?from '([^']+)';$/gm)].map(([, name = '']) =>
    name.startsWith('.') ? normalize(join(dirname(file), name)) : name,
  );
}
