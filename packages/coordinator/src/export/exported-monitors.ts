import type { Clock } from '@svc/shared/clock.ts';
import type { StatusSince } from '../domain/uptime.ts';
import type { HistogramKind } from './histograms.ts';
import { MonitorTotals } from './monitor-totals.ts';
import { type ReadResult, readNote } from './note.ts';
import type { ExportEntry, SavedTotals } from './protocol.ts';
import { RegionTotals } from './region-totals.ts';

/** Rows of one transaction: recording waits for it, some milliseconds. */
const ROWS_PER_SAVE = 100;

type Parts = {
  readonly histograms: HistogramKind;
  readonly clock: Pick<Clock, 'wall'>;
};

/** The totals of all monitors that are exported, and which of them are not stored as they are. */
export class ExportedMonitors {
  readonly #clock: Parts['clock'];
  readonly #regions: RegionTotals;
  readonly #totals = new Map<number, MonitorTotals>();
  readonly #forgotten = new Set<number>();
  /** By the note that is read. */
  readonly #touched: MonitorTotals[] = [];
  /** Some begin anew: that has to be stored soon, so that a restart knows when they began. */
  hasNew = false;
  /** Notes up to this one are in the totals. */
  noted = 0;

  constructor({ histograms, clock }: Parts) {
    this.#clock = clock;
    this.#regions = new RegionTotals(histograms);
  }

  get(id: number): MonitorTotals | undefined {
    return this.#totals.get(id);
  }

  /**
   * A monitor that is exported, at the start or from now on; or whose declaration has changed.
   *
   * @param lastNote the last note there is: what begins anew under other attributes begins after it
   */
  put({ monitor, history, totals: row }: ExportEntry, lastNote: number): void {
    const { id } = monitor;
    const regions = this.#regions;
    const known = this.#totals.get(id);
    if (known?.declared(monitor)) return;
    const restored =
      known === undefined && row !== null ? MonitorTotals.restored(monitor, regions, history, row) : null;
    const begin = { startedAt: this.#clock.wall(), until: row === null ? this.noted : lastNote };
    const kept = known?.history ?? history;
    known?.release();
    const totals = restored ?? new MonitorTotals(monitor, regions, kept, begin);
    this.#totals.set(id, totals);
    this.#forgotten.delete(id);
    if (restored !== null) return;
    totals.isUnsaved = true;
    this.hasNew = true;
  }

  remove(id: number): void {
    const known = this.#totals.get(id);
    if (known === undefined) return;
    known.release();
    this.#totals.delete(id);
    this.#forgotten.add(id);
    this.hasNew = true;
  }

  knows(id: number, history: readonly StatusSince[]): void {
    this.#totals.get(id)?.knows(history);
  }

  changed(id: number, change: StatusSince): void {
    this.#totals.get(id)?.changed(change);
  }

  /** Notes come in the order of their ids; one that came before is passed over. */
  note(id: number, bytes: Uint8Array): void {
    if (id <= this.noted) return;
    const at = this.#clock.wall();
    readNote(bytes, (result) => this.#add(id, result, at));
    // Not before: a note may have several results of a monitor.
    for (const totals of this.#touched) totals.until = id;
    this.#touched.length = 0;
    this.noted = id;
  }

  /**
   * The totals to store, a part at a time, each after the former one was stored. The last part says which notes are
   * not needed any more. Whoever leaves the loop early could not store a part: what is left is stored the next time.
   */
  *unsaved(): Generator<SavedTotals, void> {
    const { noted: until, hasNew } = this;
    const ids = [...this.#totals].flatMap(([id, { isUnsaved }]) => (isUnsaved ? [id] : []));
    const forgotten = [...this.#forgotten];
    this.#forgotten.clear();
    this.hasNew = false;
    let part: number[] = [];
    let isStored = false;
    try {
      for (let start = 0; start < ids.length; start += ROWS_PER_SAVE) {
        part = ids.slice(start, start + ROWS_PER_SAVE);
        yield { rows: this.#rowsOf(part), forgotten: [], notesUntil: null };
      }
      yield { rows: [], forgotten, notesUntil: until };
      isStored = true;
    } finally {
      if (!isStored) {
        this.#notStored(part, forgotten);
        this.hasNew ||= hasNew;
      }
    }
  }

  #rowsOf(ids: readonly number[]): SavedTotals['rows'] {
    return ids.flatMap((id) => {
      const totals = this.#totals.get(id);
      if (totals === undefined) return [];
      totals.isUnsaved = false;
      return [{ monitorId: id, until: totals.until, text: totals.stored() }];
    });
  }

  /** Meanwhile some may have gone, or have come back. */
  #notStored(ids: readonly number[], forgotten: readonly number[]): void {
    for (const id of ids) {
      const totals = this.#totals.get(id);
      if (totals !== undefined) totals.isUnsaved = true;
    }
    for (const id of forgotten) if (!this.#totals.has(id)) this.#forgotten.add(id);
  }

  #add(noteId: number, result: ReadResult, at: number): void {
    const totals = this.#totals.get(result.monitorId);
    if (totals === undefined || noteId <= totals.until) return;
    totals.add(result, at);
    this.#touched.push(totals);
    totals.isUnsaved = true;
  }
}
