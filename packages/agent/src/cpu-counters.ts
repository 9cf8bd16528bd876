import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';

/** What the kernel has counted since some instant of the past, ms. Null: this machine does not tell. */
export type CpuCounters = {
  /** The main thread could have run and waited for a CPU; where a quota throttles it, that as well. */
  readonly waitedMs: number | null;
  /** The process's cgroup was throttled by its quota, summed over the CPUs: may grow faster than time passes. */
  readonly throttledMs: number | null;
  /** Some task of the machine waited for a CPU. */
  readonly pressedMs: number | null;
  /**
   * The event loop had nothing to do, and had read all that had arrived: libuv's count of the time that it slept in the
   * poll phase. What the thread then waited for a CPU to wake up is in it. Every machine tells.
   */
  readonly idleMs: number;
};

/** Reads the counters as they are now; a few system calls, some 20 µs. */
export interface CpuCounterSource {
  read(): CpuCounters;
  close(): void;
}

const SCHEDSTAT = '/proc/self/schedstat';
const PRESSURE = '/proc/pressure/cpu';
const OWN_CGROUPS = '/proc/self/cgroup';
const CGROUPS = '/sys/fs/cgroup';

/**
 * The counters of this process on Linux: `/proc/self/schedstat`, `cpu.stat` of its cgroup (version 1 or 2)
 * and `/proc/pressure/cpu`. A file that is not there, or that the kernel was built without, counts nothing; elsewhere
 * than on Linux all of them do. The files are opened once and read at their start.
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
 * Second number of schedstat, ns: time spent waiting on a run queue (Documentation/scheduler/sched-stats.rst). A kernel
 * that does not count (since Linux 5.14 one with delay accounting alone, unless it is started with `delayacct`) writes
 * `0 0 0` (proc_pid_schedstat in fs/proc/base.c): no process has run for no time at all.
 */
export function waitedMsIn(schedstat: string): number | null {
  const [, ran, waited] = /^(\d+) (\d+) \d+/.exec(schedstat) ?? [];
  return waited === undefined || Number(ran) === 0 ? null : Number(waited) / 1e6;
}

/** `throttled_usec` of cgroup 2, `throttled_time` (ns) of cgroup 1; the root cgroup of version 2 has neither. */
export function throttledMsIn(cpuStat: string): number | null {
  const [, name, count] = /^(throttled_usec|throttled_time) (\d+)$/m.exec(cpuStat) ?? [];
  return name === undefined ? null : Number(count) / (name === 'throttled_usec' ? 1e3 : 1e6);
}

/** `total` of the line `some`, µs (Documentation/accounting/psi.rst). */
export function pressedMsIn(pressure: string): number | null {
  const total = /^some .*total=(\d+)/m.exec(pressure)?.[1];
  return total === undefined ? null : Number(total) / 1e3;
}

/**
 * Where the `cpu.stat` of this process may lie, the likeliest first. In a container the path may be the host's,
 * of which only the container's own part is mounted, as the root.
 *
 * @param ownCgroups text of `/proc/self/cgroup`: `hierarchy:controllers:path` a line
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

/** The first file that has the number. What cannot be read later on counts nothing from then on. */
function openCounter(paths: readonly string[], parse: (text: string) => number | null, log: Logger): Counter {
  for (const path of paths) {
    let file: number;
    try {
      file = openSync(path, 'r');
    } catch {
      // Not there, or not for us: the next place, or no such counter on this machine.
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
    // Not Linux.
    return '';
  }
}
