import type { Region } from '@svc/shared/regions.ts';
import { jobKey } from './job.ts';

/** A region's part of a slot. */
export type Reported = { readonly monitorId: number; readonly slot: number; readonly region: Region };

/**
 * Reports of the regions about slots of an earlier life, from the moment when this process began to read
 * results.
 *
 * The state loaded from the database does not hold them, and a job whose result was read is in no table any
 * more. Without them such a job would seem never to have been given out, and would run a second time.
 */
export class EarlyReports {
  /** Keys and slots that were reported. */
  readonly #seen = new Set<string>();
  /** Those of them that were read and are not recorded yet. */
  readonly #unrecorded = new Map<string, Reported>();
  #until = Number.POSITIVE_INFINITY;

  /** Ends the earlier life: later slots (epoch ms) belong to this one. */
  endAt(slot: number): void {
    this.#until = slot;
  }

  /** Notes that the result was read. */
  arrived(report: Reported): void {
    if (report.slot > this.#until) return;
    const text = textOf(report);
    this.#seen.add(text);
    this.#unrecorded.set(text, report);
  }

  /** Notes that the result is recorded. */
  recorded(report: Reported): void {
    if (report.slot > this.#until) return;
    const text = textOf(report);
    this.#seen.add(text);
    this.#unrecorded.delete(text);
  }

  /** Notes that the job was given back: it is to be run again. */
  givenBack(report: Reported): void {
    const text = textOf(report);
    this.#seen.delete(text);
    this.#unrecorded.delete(text);
  }

  has(report: Reported): boolean {
    // Asked for every job that is opened; no later slot was ever put in.
    return report.slot <= this.#until && this.#seen.has(textOf(report));
  }

  /** Reports that the evaluation takes up with the next commit. */
  unrecorded(): Iterable<Reported> {
    return this.#unrecorded.values();
  }
}

function textOf({ monitorId, slot, region }: Reported): string {
  return `${jobKey(monitorId, region)}:${slot}`;
}
