import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** A file of the tests: a test, or what supports tests. Imports of production files are not followed. */
const OF_TESTS = /\.test\.ts$|^test\//;

/** Modules whose importers start processes. */
const STARTING: ReadonlySet<string> = new Set(['node:child_process', 'esbuild']);

/** The module from which tests have their databases. */
const DATABASES: ReadonlySet<string> = new Set(['test/support/database.ts']);

/**
 * The test files that start processes: they, or the support code that they import, import
 * `node:child_process` or esbuild. The quick check leaves them out.
 *
 * @param patterns globs, from `root`
 */
export function processStarters(root: string, patterns: readonly string[]): string[] {
  return importersOf(STARTING, root, patterns);
}

/** The test files that open a database, or start a service that opens one. They also run on PostgreSQL. */
export function databaseUsers(root: string, patterns: readonly string[]): string[] {
  return importersOf(DATABASES, root, patterns);
}

function importersOf(wanted: ReadonlySet<string>, root: string, patterns: readonly string[]): string[] {
  const known = new Map<string, boolean>();

  function imports(file: string): boolean {
    const before = known.get(file);
    if (before !== undefined) return before;
    known.set(file, false); // A circle imports nothing by itself.
    const found = importsOf(root, file).some(
      (target) => wanted.has(target) || (OF_TESTS.test(target) && imports(target)),
    );
    known.set(file, found);
    return found;
  }

  return globSync([...patterns], { cwd: root })
    .filter((file) => imports(file))
    .sort();
}

/**
 * The imports of a file, without imports of types. Relative
 * imports are paths from the root; others are unchanged.
 */
function importsOf(root: string, file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/^(?:import (?!type )|export |\} ).*?from '([^']+)';$/gm)].map(([, name = '']) =>
    name.startsWith('.') ? normalize(join(dirname(file), name)) : name,
  );
}
