import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Ends a child process if this process ends without doing so, for any reason (`kill -9` included). A shell
 * waits for the end of a pipe whose other end only this process holds. It is for programs that are not part
 * of svc; svc's own processes see the end of their channel.
 *
 * @returns a function that removes the guard. Call it when the child has ended, because another program may
 *   then get its process id
 */
export function guardProcess(pid: number): () => void {
  const guard: ChildProcess = spawn('sh', ['-c', 'read -r _; kill "$1"', 'guard', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // If no shell can be started, the process has no guard. Nothing else depends on the guard.
  guard.on('error', () => {});
  guard.unref();
  const pipe = guard.stdin;
  // The shell reads nothing and may end first.
  pipe?.on('error', () => {});
  if (pipe !== null && 'unref' in pipe && typeof pipe.unref === 'function') pipe.unref();
  return () => guard.kill('SIGKILL');
}
