import type { Region } from '@svc/shared/regions.ts';
import { jobKey } from './job.ts';

/** A region's part of a slot. */
export type Reported = { readonly monitorId: number; readonly slot: number; readonly region: Region };

/**
 * What regions have reported of the slots of an earlier life, since this process began to read results. What
 * was loaded from the database says nothing of it, and a job whose result was read is in no table any
 * more: without this it would be taken for one that nobody was given, and run a second time.
 */
export class EarlyReports {
  /** By key and slot. */
  readonly #seen = new Set<string>();
  /** Of these: read, and not recorded yet. */
  readonly #unrecorded = new Map<string, Reported>();
  #until = Number.POSITIVE_INFINITY;

  /** Later slots (epoch ms) are of this life. */
  endAt(slot: number): void {
    this.#until = slot;
  }

  /** The result was read. */
  arrived(report: Reported): void {
    if (report.slot > this.#until) return;
    const text = textOf(report);
    this.#seen.add(text);
    this.#unrecorded.set(text, report);
  }

  /** It is recorded. */
  recorded(report: Reported): void {
    if (report.slot > this.#until) return;
    const text = textOf(report);
    this.#seen.add(text);
    this.#unrecorded.delete(text);
  }

  /** Its job was given back: it is to be run again. */
  givenBack(report: Reported): void {
    const text = textOf(report);
    this.#seen.delete(text);
    this.#unrecorded.delete(text);
  }

  has(report: Reported): boolean {
    // Asked for every job that is opened; nothing later was ever put in.
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
