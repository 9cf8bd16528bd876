import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Ends a child process when this process is gone without having ended it, however that came (`kill -9`
 * included): a shell waits for the end of the pipe whose other end only we hold. For programs that are
 * not ours; our own see the end of their channel.
 *
 * @returns takes the guard away; to be called when the child has ended, because its process id may be
 *   given to another program then
 */
export function guardProcess(pid: number): () => void {
  const guard: ChildProcess = spawn('sh', ['-c', 'read -r _; kill "$1"', 'guard', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Without a shell there is no guard, and nothing else is lost.
  guard.on('error', () => {});
  guard.unref();
  const pipe = guard.stdin;
  // It reads nothing and may end first.
  pipe?.on('error', () => {});
  if (pipe !== null && 'unref' in pipe && typeof pipe.unref === 'function') pipe.unref();
  return () => guard.kill('SIGKILL');
}
