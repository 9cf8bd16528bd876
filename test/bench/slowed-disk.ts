import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** The system calls that a database on disk waits for. */
const SYSCALLS = 'fsync,fdatasync,pwrite64';
/** How long each slowed call takes. */
const STALL = '3s';

/**
 * How the disk of a process behaves. `traced` adds only the cost of the tracer. `stalls-once` slows the first
 * call of each kind in each thread by 3 s. `stalls` slows every call.
 */
export type Disk = 'traced' | 'stalls-once' | 'stalls';

/** Why disks cannot be slowed here; null when they can. */
export function whyNoSlowDisk(): string | null {
  if (spawnSync('strace', ['-V']).status !== 0) return 'strace is not installed (Debian: strace)';
  const { status, stderr } = spawnSync('strace', ['-o', '/dev/null', ...argumentsFor('traced'), 'true']);
  return status === 0 ? null : `strace may not trace here: ${stderr.toString().trim()}`;
}

/** A tracer that is attached to all threads of a running process. */
export class SlowedDisk {
  readonly #tracer: ChildProcess;

  private constructor(tracer: ChildProcess) {
    this.#tracer = tracer;
  }

  /**
   * Resolves when the process is traced. The tracer is attached later, so that fast and slow spans follow
   * each other in one run. Every syscall then stops the thread for some microseconds, because a seccomp
   * filter can be added only at the start.
   */
  static async attach(pid: number, disk: Disk): Promise<SlowedDisk> {
    const tracer = spawn('strace', ['-q', '-o', '/dev/null', ...argumentsFor(disk), '-p', String(pid)], {
      stdio: 'ignore',
    });
    while (tracerOf(pid) !== tracer.pid) {
      if (tracer.exitCode !== null) throw new Error(`strace could not attach to ${pid}`);
      await delay(5);
    }
    return new SlowedDisk(tracer);
  }

  /** Ends the tracing. The process continues, and stalled calls return. */
  async detach(): Promise<void> {
    if (this.#tracer.exitCode !== null || this.#tracer.signalCode !== null) return;
    const exited = once(this.#tracer, 'exit');
    this.#tracer.kill('SIGINT');
    await exited;
  }
}

function argumentsFor(disk: Disk): string[] {
  const trace = ['-f', '-e', `trace=${SYSCALLS}`];
  if (disk === 'traced') return trace;
  const when = disk === 'stalls-once' ? ':when=1' : '';
  return [...trace, '-e', `inject=${SYSCALLS}:delay_enter=${STALL}${when}`];
}

function tracerOf(pid: number): number {
  return Number(/^TracerPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
