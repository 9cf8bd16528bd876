import { readFileSync } from 'node:fs';
import { pressedMsIn, waitedMsIn } from '@svc/shared/process/cpu-counters.ts';
import { median } from './process-usage.ts';

const EVERY_MS = 2_000;

type Reading = { readonly at: number; readonly waitedMs: number[]; readonly pressedMs: number };

/**
 * Measures, for every two seconds, the part of the time in which these processes waited for a CPU, and the
 * part in which any task of the machine waited.
 */
export class CpuWaits {
  readonly #pids: () => readonly number[];
  readonly #timer: NodeJS.Timeout;
  readonly #waited: number[] = [];
  readonly #pressed: number[] = [];
  #before: Reading;

  /**
   * @param pids returns the ids of the processes. It is called for each
   *   measurement. The waiting time of a process that was replaced is left out
   */
  constructor(pids: () => readonly number[]) {
    this.#pids = pids;
    this.#before = this.#read();
    this.#timer = setInterval(() => this.#sample(), EVERY_MS);
  }

  /** Ends the measurement. Returns a text like `waited 12 to 86 %, median 50 %; pressure 82 to 99 %`. */
  end(): string {
    clearInterval(this.#timer);
    return `waited ${range(this.#waited)}, median ${percent(median(this.#waited))} %; pressure ${range(this.#pressed)}`;
  }

  #sample(): void {
    const { at, waitedMs, pressedMs } = this.#before;
    const now = this.#read();
    this.#before = now;
    const elapsed = now.at - at;
    this.#pressed.push((now.pressedMs - pressedMs) / elapsed);
    now.waitedMs.forEach((waited, index) => {
      const before = waitedMs[index] ?? Number.NaN;
      if (waited >= before) this.#waited.push((waited - before) / elapsed);
    });
  }

  #read(): Reading {
    return {
      at: performance.now(),
      waitedMs: this.#pids().map((pid) => waitedOf(pid)),
      pressedMs: pressedMsIn(readFileSync('/proc/pressure/cpu', 'utf8')) ?? Number.NaN,
    };
  }
}

/** The waiting time of a process; NaN if the process is gone. */
function waitedOf(pid: number): number {
  try {
    return waitedMsIn(readFileSync(`/proc/${pid}/schedstat`, 'utf8')) ?? Number.NaN;
  } catch {
    // The process was killed, and the next one has not started yet.
    return Number.NaN;
  }
}

const percent = (part: number): number => Math.round(100 * Math.min(1, part));

function range(parts: readonly number[]): string {
  return `${percent(Math.min(...parts))} to ${percent(Math.max(...parts))} %`;
}
