import { Worker } from 'node:worker_threads';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { VERSION } from '@svc/shared/version.ts';
import type { LiveMonitor, LiveMonitors, MonitorStatus } from '../domain/monitor.ts';
import { type ExportNote, lastNote, removeNotes, removeTotals, writeTotals } from '../store/export-totals.ts';
import type { Store } from '../store/store.ts';
import { loadEntries, loadHistories, loadNotes, removeOrphans } from './export-loading.ts';
import type { ExportSettings } from './export-settings.ts';
import { encodeNote, type NotedResult } from './note.ts';
import type {
  EndpointState,
  ExportedPoints,
  ExportThreadData,
  FromExportThread,
  SavedTotals,
  TestAnswer,
  ToExportThread,
} from './protocol.ts';
import { exportedMonitor, targetOf } from './targets.ts';

type Parts = {
  readonly store: Store;
  readonly monitors: LiveMonitors;
  readonly settings: ExportSettings;
  readonly thread: Pick<ExportThreadData, 'egressAllow' | 'ca' | 'proxy'>;
  readonly clock: Clock;
  readonly log: Logger;
};

const NO_POINTS: ExportedPoints = { taken: 0, rejected: 0, dropped: 0 };

/** After the thread has failed, ms. */
const RESTART_AFTER_MS = 5_000;
/** A test of an endpoint takes 15 s for each encoding at most. */
const TEST_WITHIN_MS = 35_000;
/** Notes that the thread has not read, in bytes: beyond it the thread is started anew from what is stored. */
const MOST_UNREAD = 64 * 1_024 * 1_024;
/** Notes that no stored totals have, in bytes: beyond it results are not noted any more, and counts miss them. */
const MOST_KEPT = 512 * 1_024 * 1_024;

/** The test of an endpoint cannot be made. */
export class ExportTestError extends SvcError {
  constructor(code: 'not-exported' | 'export-unavailable', message: string) {
    super(code, message);
  }
}

/**
 * The export over OTLP, as the main thread sees it. All of it but this runs on a thread of its own, which is
 * there while some monitor is exported.
 *
 *     recorder ── noteOf ──▶ its transaction ── noted ──▶ thread: totals ──▶ endpoints
 *                                 │                          │ ▲
 *                              notes ───── at a start ───────┼─┘
 *                              totals ◀──── every 5 min ─────┘
 *
 * A note is in the transaction of its results, and is kept until the totals that have it are stored: so counts
 * neither double nor get lost, whenever the process ends.
 */
export class MetricsExport {
  readonly #parts: Parts;
  readonly #tests = new Map<number, (answer: TestAnswer | null) => void>();
  #lastNote = 0;
  #worker: Worker | null = null;
  /** What is told while the thread loads; null: it has loaded. */
  #held: ToExportThread[] | null = null;
  /** Notes that were handed over and not read yet, with their bytes. */
  #unread: { id: number; bytes: number }[] = [];
  #unreadBytes = 0;
  /** Of notes since totals were last stored, about. */
  #keptBytes = 0;
  #endpoints: readonly EndpointState[] = [];
  #ofThread = NO_POINTS;
  #ofEarlierThreads = NO_POINTS;
  #lastTest = 0;
  #isStopped = false;
  #cancelRestart: () => void = () => {};
  #cancelChanges: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** To be called before anything is recorded. */
  async load(): Promise<void> {
    this.#lastNote = await lastNote(this.#parts.store);
  }

  /** After the monitors are loaded. */
  start(): void {
    const { monitors } = this.#parts;
    this.#cancelChanges = monitors.onChange((before, after) => this.#declared(before, after));
    for (const monitor of monitors.values()) {
      if (!this.#isExported(monitor)) continue;
      this.#startThread();
      return;
    }
    // Totals of monitors that were exported once.
    this.#running = removeOrphans(this.#parts.store, () => false).catch((error: unknown) =>
      this.#failed(error),
    );
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelChanges();
    this.#cancelRestart();
    for (const resolve of this.#tests.values()) resolve(null);
    this.#tests.clear();
    // What is not stored is in the notes. What is being stored is not waited for: the database may take nothing.
    await this.#worker?.terminate();
  }

  noteOf(recorded: readonly (NotedResult & { monitor: LiveMonitor; isNew: boolean })[]): ExportNote | null {
    // Also while the thread is started again: it reads the notes that it has missed.
    const exported = recorded.filter(({ monitor, isNew }) => isNew && this.#isExported(monitor));
    const bytes = exported.length === 0 ? null : encodeNote(exported);
    if (bytes === null || this.#isFull(bytes.length)) return null;
    this.#lastNote += 1;
    return { id: this.#lastNote, bytes };
  }

  noted({ id, bytes }: ExportNote): void {
    this.#unread.push({ id, bytes: bytes.length });
    this.#unreadBytes += bytes.length;
    this.#tell({ kind: 'note', id, bytes });
    if (this.#unreadBytes <= MOST_UNREAD) return;
    this.#parts.log.error('the thread of the export does not keep up, and is started anew');
    void this.#worker?.terminate();
  }

  /** The status of a monitor has changed; after the commit. */
  statusChanged(monitorId: number, at: number, status: MonitorStatus): void {
    const monitor = this.#parts.monitors.get(monitorId);
    if (monitor === undefined || !this.#isExported(monitor)) return;
    this.#tell({ kind: 'status', id: monitorId, change: { at, status } });
  }

  /** How it stands with the endpoints, a second ago at most. */
  get endpoints(): readonly EndpointState[] {
    return this.#endpoints;
  }

  /** Points since the start. */
  get points(): ExportedPoints {
    const { taken, rejected, dropped } = this.#ofThread;
    const before = this.#ofEarlierThreads;
    return {
      taken: before.taken + taken,
      rejected: before.rejected + rejected,
      dropped: before.dropped + dropped,
    };
  }

  /**
   * Sends what is exported of the monitor to its endpoint, now.
   *
   * @throws ExportTestError
   */
  async test(monitorId: number): Promise<TestAnswer> {
    const monitor = this.#parts.monitors.get(monitorId);
    if (monitor === undefined || !this.#isExported(monitor)) {
      throw new ExportTestError(
        'not-exported',
        'the monitor has no otlp_endpoint, and OTEL_EXPORTER_OTLP_ENDPOINT is not set',
      );
    }
    const request = ++this.#lastTest;
    const answered = new Promise<TestAnswer | null>((resolve) => this.#tests.set(request, resolve));
    const cancel = this.#parts.clock.after(TEST_WITHIN_MS, () => this.#tested(request, null));
    this.#tell({ kind: 'test', request, monitorId });
    const answer = await answered;
    cancel();
    if (answer !== null) return answer;
    throw new ExportTestError('export-unavailable', 'the export does not run at this moment');
  }

  /** Totals were not stored for hours: the thread fails again and again. The database must not fill up. */
  #isFull(more: number): boolean {
    if (this.#keptBytes > MOST_KEPT) return true;
    this.#keptBytes += more;
    if (this.#keptBytes > MOST_KEPT) {
      this.#parts.log.error(
        'exported totals could not be stored for too long: exported counts miss results now',
      );
    }
    return false;
  }

  #isExported(monitor: LiveMonitor): boolean {
    return monitor.declaredExport !== null || this.#parts.settings.fallback !== null;
  }

  #declared(before: LiveMonitor | null, after: LiveMonitor | null): void {
    const id = (after ?? before)?.id ?? 0;
    if (after !== null && this.#isExported(after)) {
      if (this.#worker === null) this.#startThread();
      else this.#tellDeclared(after);
    } else if (before !== null && this.#isExported(before)) {
      this.#tell({ kind: 'monitor', id, entry: null });
    }
  }

  /** At once, so that it is there before the notes that follow. Its history has to be read, and comes later. */
  #tellDeclared(monitor: LiveMonitor): void {
    const { store, settings, clock } = this.#parts;
    const { id } = monitor;
    const target = targetOf(monitor, settings);
    if (target === null) return;
    const entry = { monitor: exportedMonitor(monitor), target, history: [], totals: null };
    this.#tell({ kind: 'monitor', id, entry });
    loadHistories(store, [id], clock.wall()).then(
      (histories) => this.#tell({ kind: 'history', id, history: histories.get(id) ?? [] }),
      (error: unknown) => this.#failed(error),
    );
  }

  #startThread(): void {
    if (this.#isStopped || this.#worker !== null) return;
    const { settings, thread, log } = this.#parts;
    const { intervalMs, saveEveryMs, histograms, resource } = settings;
    const worker = new Worker(new URL('./export-worker.ts', import.meta.url), {
      name: 'export',
      workerData: {
        intervalMs,
        saveEveryMs,
        histograms,
        resource,
        version: VERSION,
        ...thread,
      } satisfies ExportThreadData,
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    });
    worker.unref();
    worker.on('message', (message: FromExportThread) => this.#take(message));
    worker.on('error', (error) => log.error({ error: messageOf(error) }, 'the thread of the export failed'));
    worker.once('exit', () => this.#ended());
    this.#worker = worker;
    this.#held = [];
    this.#unread = [];
    this.#unreadBytes = 0;
    // Later ones are told, after the monitors that they are about.
    const last = this.#lastNote;
    this.#running = this.#running.then(() => this.#load(worker, last));
  }

  async #load(worker: Worker, last: number): Promise<void> {
    const { store, monitors, settings, clock } = this.#parts;
    const isCurrent = () => this.#worker === worker && !this.#isStopped;
    try {
      await removeOrphans(store, (id) => {
        const monitor = monitors.get(id);
        return monitor !== undefined && this.#isExported(monitor);
      });
      for await (const entries of loadEntries(store, monitors, settings, clock.wall())) {
        if (!isCurrent()) return;
        worker.postMessage({ kind: 'entries', entries, lastNote: last } satisfies ToExportThread);
      }
      for await (const note of loadNotes(store, last)) {
        if (!isCurrent()) return;
        worker.postMessage({ kind: 'note', ...note } satisfies ToExportThread);
      }
    } catch (error) {
      this.#failed(error);
      if (isCurrent()) void worker.terminate();
      return;
    }
    if (!isCurrent()) return;
    for (const message of this.#held ?? []) worker.postMessage(message);
    this.#held = null;
    worker.postMessage({ kind: 'begin' } satisfies ToExportThread);
  }

  #tell(message: ToExportThread): void {
    if (this.#held !== null) this.#held.push(message);
    else this.#worker?.postMessage(message);
  }

  #take(message: FromExportThread): void {
    switch (message.kind) {
      case 'state':
        this.#endpoints = message.endpoints;
        this.#ofThread = message.points;
        this.#read(message.noted);
        return;
      case 'save':
        this.#running = this.#running.then(() => this.#save(message.totals));
        return;
      case 'tested':
        this.#tested(message.request, message.answer);
        return;
      default:
        message satisfies never;
    }
  }

  #read(noted: number): void {
    const first = this.#unread.findIndex(({ id }) => id > noted);
    for (const { bytes } of this.#unread.splice(0, first === -1 ? this.#unread.length : first)) {
      this.#unreadBytes -= bytes;
    }
  }

  async #save({ rows, forgotten, notesUntil }: SavedTotals): Promise<void> {
    const { store } = this.#parts;
    let isSaved = true;
    try {
      if (rows.length > 0) await writeTotals(store, rows);
      if (forgotten.length > 0) await removeTotals(store, forgotten);
      if (notesUntil !== null) await this.#removeNotes(notesUntil);
    } catch (error) {
      isSaved = false;
      this.#failed(error);
    }
    this.#worker?.postMessage({ kind: 'saved', isSaved } satisfies ToExportThread);
  }

  async #removeNotes(until: number): Promise<void> {
    const before = this.#keptBytes;
    await removeNotes(this.#parts.store, until);
    this.#keptBytes -= before;
  }

  #tested(request: number, answer: TestAnswer | null): void {
    this.#tests.get(request)?.(answer);
    this.#tests.delete(request);
  }

  #ended(): void {
    this.#worker = null;
    this.#held = null;
    this.#endpoints = [];
    this.#ofEarlierThreads = this.points;
    this.#ofThread = NO_POINTS;
    for (const request of [...this.#tests.keys()]) this.#tested(request, null);
    if (this.#isStopped) return;
    const { clock, log } = this.#parts;
    log.error('the thread of the export has ended, and is started again');
    this.#cancelRestart = clock.after(RESTART_AFTER_MS, () => this.#startThread());
  }

  #failed(error: unknown): void {
    if (this.#isStopped) return;
    this.#parts.log.error({ error: messageOf(error) }, 'what is exported could not be read or stored');
  }
}
