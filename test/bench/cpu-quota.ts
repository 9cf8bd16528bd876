import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

const CGROUP_2 = '/sys/fs/cgroup';
const CGROUP_1 = '/sys/fs/cgroup/cpu';
const PERIOD_US = 100_000;

/**
 * A cgroup with a quota of CPU time, created for one benchmark. It uses the version of cgroups that the
 * machine has, 2 or 1.
 */
export class CpuQuota {
  readonly #path: string;
  readonly #root: string;

  /**
   * @param part of one core, 0.01 to 1
   * @throws Error when no cgroup can be made here
   */
  constructor(name: string, part: number) {
    this.#root = hasCgroup2() ? CGROUP_2 : CGROUP_1;
    this.#path = `${this.#root}/${name}`;
    mkdirSync(this.#path);
    const quotaUs = Math.round(PERIOD_US * part);
    if (hasCgroup2()) this.#write('cpu.max', `${quotaUs} ${PERIOD_US}`);
    else {
      this.#write('cpu.cfs_period_us', String(PERIOD_US));
      this.#write('cpu.cfs_quota_us', String(quotaUs));
    }
  }

  take(pid: number): void {
    this.#write('cgroup.procs', String(pid));
  }

  /** Moves the process back to the root cgroup, where nothing limits it. */
  release(pid: number): void {
    writeFileSync(`${this.#root}/cgroup.procs`, String(pid));
  }

  /** Removes the cgroup, which must be empty. */
  remove(): void {
    rmdirSync(this.#path);
  }

  #write(file: string, text: string): void {
    writeFileSync(`${this.#path}/${file}`, text);
  }
}

/** Why no quota can be set here; null: it can. */
export function whyNoCpuQuota(): string | null {
  if (!hasCgroup2() && !existsSync(`${CGROUP_1}/cpu.cfs_quota_us`)) return 'there is no CPU controller';
  try {
    new CpuQuota(`svc-bench-${process.pid}`, 0.5).remove();
    return null;
  } catch (error) {
    return `no cgroup can be made: ${String(error)}`;
  }
}

function hasCgroup2(): boolean {
  const path = `${CGROUP_2}/cgroup.controllers`;
  return existsSync(path) && readFileSync(path, 'utf8').split(/\s+/).includes('cpu');
}
