import { afterAll } from 'vitest';
import { type Left, OpenResources } from './open-resources.ts';

/** ms that what a file has closed may take to be gone, also on a busy machine. */
const GRACE_MS = Number(process.env.LEAKS_GRACE_MS ?? 60_000);

/**
 * For all tests: a test file that leaves something open fails, and is told what and who made it. This runs after all
 * hooks of the file: it is registered first.
 */
const WATCH = Symbol.for('svc.open-resources');
// Test files that share a worker share what watches it, and each of them loads this file again.
const watch: OpenResources = Reflect.get(globalThis, WATCH) ?? new OpenResources();
Reflect.set(globalThis, WATCH, watch);
// Node opens the standard input for the first module that imports all of `process`, as some of OpenTelemetry do.
void process.stdin;
const before = watch.now();

afterAll(async () => {
  const left = await watch.leftSince(before, GRACE_MS);
  if (left.length > 0) throw new Error(`this file leaves open:\n${left.map(shown).join('\n')}`);
});

function shown({ name, stack }: Left): string {
  return [`- ${name}`, ...stack.slice(0, 8).map((frame) => `    made at ${frame}`)].join('\n');
}
