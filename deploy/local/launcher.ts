import { readFileSync } from 'node:fs';

/** Interval of the checks, ms. */
const LOOK_EVERY_MS = 1_000;
/** The commands of npm that start this process. */
const STARTS: ReadonlySet<string> = new Set(['start', 'start:cluster']);

/**
 * Calls `onGone` once when npm, which started this process, is gone: a killed npm forwards no signal, and
 * then Ctrl-C in its terminal does not reach this process. It does nothing if none of {@link STARTS} started this
 * process.
 *
 * npm starts this process through a shell, which may stay between the two (dash) or be replaced (bash). On
 * Linux the shell's own parent is checked too; elsewhere only the case of a replaced shell is noticed.
 *
 * @returns a function that ends the watch
 */
export function watchLauncher(environment: NodeJS.ProcessEnv, onGone: () => void): () => void {
  if (!STARTS.has(environment.npm_lifecycle_event ?? '')) return () => {};
  const ancestors = ancestorsNow();
  const timer = setInterval(() => {
    if (ancestorsNow() === ancestors) return;
    clearInterval(timer);
    onGone();
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Ids of the parent and its parent: an orphan gets another parent. */
function ancestorsNow(): string {
  return `${process.ppid} ${parentOf(process.ppid)}`;
}

/** Null where there is no /proc. */
function parentOf(pid: number): string | null {
  try {
    // `pid (name) state ppid …`; the name may contain anything, so the text after the last bracket counts.
    const [, parent] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
    return parent ?? null;
  } catch {
    return null;
  }
}
