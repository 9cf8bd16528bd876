import { readdirSync, readFileSync } from 'node:fs';
import { isCode } from '@svc/shared/errors.ts';
import { cpuMs } from '../process-usage.ts';

/**
 * Interval at which the processes are measured, ms. The CPU time of a process after its last measurement is
 * not counted.
 */
const EVERY_MS = 20;

export type PluginUsage = {
  /** Number of processes in the whole run. */
  readonly processes: number;
  /** Memory of the largest process, by the kernel's high-water mark. */
  readonly peakMiB: number;
  /** CPU time of all processes together, ms. */
  readonly cpuMs: number;
  /** CPU time of Terraform itself, ms. */
  readonly terraformCpuMs: number;
};

type Seen = { peakMiB: number; cpuMs: number };

/** Watches the plug-ins that one Terraform starts, by its children in /proc (Linux only). */
export class PluginProcesses {
  readonly #terraform: number;
  readonly #timer: NodeJS.Timeout;
  readonly #seen = new Map<string, Seen>();
  /** Processes of other parents. Each is read once. */
  readonly #others: Set<string>;
  #terraformCpuMs = 0;

  constructor(terraform: number) {
    this.#terraform = terraform;
    this.#others = new Set(processes());
    this.#timer = setInterval(() => this.#look(), EVERY_MS);
  }

  stop(): PluginUsage {
    clearInterval(this.#timer);
    const all = [...this.#seen.values()];
    return {
      processes: all.length,
      peakMiB: Math.max(0, ...all.map(({ peakMiB }) => peakMiB)),
      cpuMs: all.reduce((sum, one) => sum + one.cpuMs, 0),
      terraformCpuMs: this.#terraformCpuMs,
    };
  }

  #look(): void {
    ifThere(() => {
      this.#terraformCpuMs = cpuMs(this.#terraform);
    });
    for (const pid of processes()) {
      if (this.#others.has(pid)) continue;
      ifThere(() => this.#read(pid));
    }
  }

  #read(pid: string): void {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    if (Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]) !== this.#terraform) {
      this.#others.add(pid);
      return;
    }
    const seen = this.#seen.get(pid) ?? { peakMiB: 0, cpuMs: 0 };
    // The last value, not the largest: between fork and exec the process has the memory of Terraform. A
    // process that has ended, and whose exit status Terraform has not read yet, has no memory.
    const peakKiB = /^VmHWM:\s+(\d+) kB/m.exec(status)?.[1];
    if (peakKiB !== undefined) seen.peakMiB = Number(peakKiB) / 1024;
    seen.cpuMs = cpuMs(Number(pid));
    this.#seen.set(pid, seen);
  }
}

function processes(): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

/** Processes end between two looks. */
function ifThere(look: () => void): void {
  try {
    look();
  } catch (error) {
    if (!isCode(error, 'ENOENT', 'ESRCH')) throw error;
  }
}
