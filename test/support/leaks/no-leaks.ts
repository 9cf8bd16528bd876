import { afterAll } from 'vitest';
import { type Left, OpenResources } from './open-resources.ts';

/** Time until closed resources must be gone, ms, even on a busy machine. */
const GRACE_MS = Number(process.env.LEAKS_GRACE_MS ?? 60_000);

/**
 * For all tests: a test file that leaves something open fails, with the names and the stacks
 * of what it left. This hook is registered first, so it runs after all hooks of the file.
 */
const WATCH = Symbol.for('svc.open-resources');
// Test files in one worker share the watch, and each of them loads this file again.
const watch: OpenResources = Reflect.get(globalThis, WATCH) ?? new OpenResources();
Reflect.set(globalThis, WATCH, watch);
// Node opens the standard input for the first module that
// imports all of `process`, as some of OpenTelemetry do.
void process.stdin;
const before = watch.now();

afterAll(async () => {
  const left = await watch.leftSince(before, GRACE_MS);
  if (left.length > 0) throw new Error(`this file leaves open:\n${left.map(shown).join('\n')}`);
});

function shown({ name, stack }: Left): string {
  return [`- ${name}`, ...stack.slice(0, 8).map((frame) => `    made at ${frame}`)].join('\n');
}
