import { readFileSync } from 'node:fs';

/** How often the launcher is looked for, ms. */
const LOOK_EVERY_MS = 1_000;

/**
 * Calls `onGone` once when npm, which started this process, is gone: killed, it forwards no signal, and
 * Ctrl-C in its terminal does not reach us any more. Does nothing when npm did not start us.
 *
 * npm starts us through a shell, which may stand between us (dash) or be replaced by us (bash). On Linux
 * the shell's own parent is looked at too; elsewhere only a shell that was replaced is noticed.
 *
 * @returns ends the watch
 */
export function watchLauncher(environment: NodeJS.ProcessEnv, onGone: () => void): () => void {
  if (environment.npm_lifecycle_event !== 'start') return () => {};
  const ancestors = ancestorsNow();
  const timer = setInterval(() => {
    if (ancestorsNow() === ancestors) return;
    clearInterval(timer);
    onGone();
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Our parent and its parent: an orphan is given to another one. */
function ancestorsNow(): string {
  return `${process.ppid} ${parentOf(process.ppid)}`;
}

/** Null where there is no /proc. */
function parentOf(pid: number): string | null {
  try {
    // `pid (name) state ppid …`; the name may contain anything, so what counts is after the last bracket.
    const [, parent] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
    return parent ?? null;
  } catch {
    return null;
  }
}
