import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { messageOf } from '../errors.ts';
import type { Logger } from '../log.ts';

/**
 * Times since some instant in the past, ms, as the kernel and libuv count them. Null: this machine does not
 * count this time, or the count cannot be read any more.
 */
export type CpuCounters = {
  /**
   * Time for which the main thread could have run but waited for a CPU. Throttling by a quota is included.
   */
  readonly waitedMs: number | null;
  /**
   * Time for which the quota throttled the process's cgroup, summed over the CPUs. It
   * may grow faster than time passes.
   */
  readonly throttledMs: number | null;
  /** Time for which some task of the machine waited for a CPU. */
  readonly pressedMs: number | null;
  /**
   * Time for which the event loop had nothing to do and had read everything that had arrived:
   * libuv's count of its sleep in the poll phase. It includes the wait for a CPU after waking up.
   * Every machine counts this time.
   */
  readonly idleMs: number;
};

/** The counters of this process. A reading makes a few system calls in some 20 µs. */
export interface CpuCounterSource {
  read(): CpuCounters;
  close(): void;
}

const SCHEDSTAT = '/proc/self/schedstat';
const PRESSURE = '/proc/pressure/cpu';
const OWN_CGROUPS = '/proc/self/cgroup';
const CGROUPS = '/sys/fs/cgroup';

/**
 * Opens the counters of this process on Linux: `/proc/self/schedstat`, `cpu.stat` of its cgroup (version 1 or
 * 2) and `/proc/pressure/cpu`.
 *
 * A counter whose file is missing is null. On systems other than Linux, all three counters of files are null.
 * The files are opened once and read from their start each time.
 */
export function openCpuCounters(log: Logger): CpuCounterSource {
  const waited = openCounter([SCHEDSTAT], waitedMsIn, log);
  const throttled = openCounter(cpuStatPaths(readOwnCgroups()), throttledMsIn, log);
  const pressed = openCounter([PRESSURE], pressedMsIn, log);
  return {
    read: () => ({
      waitedMs: waited.read(),
      throttledMs: throttled.read(),
      pressedMs: pressed.read(),
      idleMs: performance.nodeTiming.idleTime,
    }),
    close: () => {
      for (const counter of [waited, throttled, pressed]) counter.close();
    },
  };
}

/**
 * Reads the second number of schedstat, ns: the time spent waiting on a run queue
 * (Documentation/scheduler/sched-stats.rst).
 *
 * A kernel that does not count writes `0 0 0` (proc_pid_schedstat in fs/proc/base.c), which cannot be a
 * count, because every process has run for some time. Since Linux 5.14, a kernel with delay accounting alone
 * counts only when it is started with `delayacct`.
 */
export function waitedMsIn(schedstat: string): number | null {
  const [, ran, waited] = /^(\d+) (\d+) \d+/.exec(schedstat) ?? [];
  return waited === undefined || Number(ran) === 0 ? null : Number(waited) / 1e6;
}

/**
 * Reads `throttled_usec` of cgroup 2 or `throttled_time` (ns) of cgroup 1. The root cgroup of version 2 has
 * neither.
 */
export function throttledMsIn(cpuStat: string): number | null {
  const [, name, count] = /^(throttled_usec|throttled_time) (\d+)$/m.exec(cpuStat) ?? [];
  return name === undefined ? null : Number(count) / (name === 'throttled_usec' ? 1e3 : 1e6);
}

/** Reads `total` of the line `some`, µs (Documentation/accounting/psi.rst). */
export function pressedMsIn(pressure: string): number | null {
  const total = /^some .*total=(\d+)/m.exec(pressure)?.[1];
  return total === undefined ? null : Number(total) / 1e3;
}

/**
 * The paths at which the `cpu.stat` of this process may lie, the likeliest first. In a container,
 * `/proc/self/cgroup` may name the path on the host, although only the container's own cgroup is mounted, as
 * the root.
 *
 * @param ownCgroups text of `/proc/self/cgroup`, with a line `hierarchy:controllers:path` for each cgroup
 */
export function cpuStatPaths(ownCgroups: string): string[] {
  const paths: string[] = [];
  for (const line of ownCgroups.split('\n')) {
    const [, hierarchy = '', controllers = '', path = ''] = /^(\d+):([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === '' || path.includes('..')) continue;
    const own = path === '/' ? '' : path;
    if (hierarchy === '0') {
      paths.push(`${CGROUPS}${own}/cpu.stat`, `${CGROUPS}/unified${own}/cpu.stat`, `${CGROUPS}/cpu.stat`);
    } else if (controllers.split(',').includes('cpu')) {
      for (const mount of [controllers, 'cpu']) paths.unshift(`${CGROUPS}/${mount}${own}/cpu.stat`);
      paths.push(`${CGROUPS}/cpu/cpu.stat`);
    }
  }
  return [...new Set(paths)];
}

type Counter = { read(): number | null; close(): void };

const ABSENT: Counter = { read: () => null, close: () => {} };

/**
 * Opens the first file from which `parse` reads a number. A file that becomes unreadable gives null from then
 * on.
 */
function openCounter(paths: readonly string[], parse: (text: string) => number | null, log: Logger): Counter {
  for (const path of paths) {
    let file: number;
    try {
      file = openSync(path, 'r');
    } catch {
      // The file is missing or not readable, so the next path is tried. If no path is left, this machine has
      // no such counter.
      continue;
    }
    const counter = new FileCounter(path, file, parse, log);
    if (counter.read() !== null) return counter;
    counter.close();
  }
  return ABSENT;
}

class FileCounter implements Counter {
  static readonly #bytes = Buffer.alloc(4_096);
  readonly #path: string;
  readonly #parse: (text: string) => number | null;
  readonly #log: Logger;
  #file: number | null;

  constructor(path: string, file: number, parse: (text: string) => number | null, log: Logger) {
    this.#path = path;
    this.#file = file;
    this.#parse = parse;
    this.#log = log;
  }

  read(): number | null {
    if (this.#file === null) return null;
    try {
      const length = readSync(this.#file, FileCounter.#bytes, 0, FileCounter.#bytes.length, 0);
      return this.#parse(FileCounter.#bytes.toString('latin1', 0, length));
    } catch (error) {
      this.#log.debug({ path: this.#path, error: messageOf(error) }, 'a counter cannot be read any more');
      this.close();
      return null;
    }
  }

  close(): void {
    if (this.#file === null) return;
    closeSync(this.#file);
    this.#file = null;
  }
}

function readOwnCgroups(): string {
  try {
    return readFileSync(OWN_CGROUPS, 'utf8');
  } catch {
    // The machine does not run Linux, or has no `/proc`.
    return '';
  }
}
