import { Worker } from 'node:worker_threads';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { GrowingWaits } from '@svc/shared/growing-waits.ts';
import type { Logger } from '@svc/shared/log.ts';
import { VERSION } from '@svc/shared/version.ts';
import type { LiveMonitor, LiveMonitors, MonitorStatus } from '../domain/monitor.ts';
import { type ExportNote, lastNote, removeNotes, removeTotals, writeTotals } from '../store/export-totals.ts';
import type { Store } from '../store/store.ts';
import { EndpointTests } from './endpoint-tests.ts';
import { loadEntries, loadHistories, loadNotes, removeOrphans } from './export-loading.ts';
import type { ExportSettings } from './export-settings.ts';
import { HistoryReading } from './history-reading.ts';
import { encodeNote, type NotedResult } from './note.ts';
import { NoteBatch } from './note-batch.ts';
import { NoteQueue } from './note-queue.ts';
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
import { ToldStates } from './told-states.ts';

type Parts = {
  readonly store: Store;
  readonly monitors: LiveMonitors;
  readonly settings: ExportSettings;
  readonly thread: Pick<ExportThreadData, 'egressAllow' | 'ca' | 'proxy'>;
  readonly clock: Clock;
  readonly log: Logger;
};

/** A thread that ran for so long has not failed because of what it begins with, ms. */
const RAN_WELL_MS = 60_000;
/** A stop waits so long for the thread, ms: it does not end while the system looks for a name, which may take 10 s. */
const END_WITHIN_MS = 1_000;
/** A test of an endpoint tries both encodings at most; this is beside the time of those requests, ms. */
const TEST_BESIDE_MS = 5_000;
/** Notes that no stored totals have, in bytes: beyond it results are not noted any more, and counts miss them. */
const MOST_KEPT = 512 * 1_024 * 1_024;

function unavailable(why: string): ExportTestError {
  return new ExportTestError('export-unavailable', `the export ${why}`);
}

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
 *                              totals ◀──── every 10 min ────┘
 *
 * A note is in the transaction of its results, and is kept until the totals that have it are stored: so counts
 * neither double nor get lost, whenever the process ends.
 */
export class MetricsExport {
  readonly #parts: Parts;
  readonly #tests: EndpointTests;
  #lastNote = 0;
  #worker: Worker | null = null;
  /** Messages that wait while the thread loads; null: it has loaded. */
  #held: ToExportThread[] | null = null;
  /** Of notes since totals were last stored, about. */
  #keptBytes = 0;
  readonly #states = new ToldStates();
  /** Monitors that are exported. */
  #exported = 0;
  /** The thread ends because no monitor is exported: the last note then. Null: it goes on. */
  #endsAfter: number | null = null;
  #isStopped = false;
  #threadStartedAt = 0;
  readonly #restarts: GrowingWaits;
  readonly #histories: HistoryReading;
  readonly #notes: NoteQueue;
  #cancelChanges: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
    const { store, clock } = parts;
    this.#tests = new EndpointTests(clock);
    this.#restarts = new GrowingWaits(clock);
    this.#notes = new NoteQueue({
      clock,
      send: (batch) => this.#post({ kind: 'notes', batch }),
      onOverflow: () => {
        this.#parts.log.error('the thread of the export does not keep up, and is started anew');
        void this.#worker?.terminate();
      },
    });
    this.#histories = new HistoryReading({
      clock,
      read: (ids) => loadHistories(store, ids, clock.wall()),
      onRead: (id, history) => this.#tell({ kind: 'history', id, history }),
      onError: (error) => this.#failed(error),
    });
  }

  /** Call it before anything is recorded. */
  async load(): Promise<void> {
    this.#lastNote = await lastNote(this.#parts.store);
  }

  /** After the monitors are loaded. */
  start(): void {
    const { monitors } = this.#parts;
    this.#cancelChanges = monitors.onChange((before, after) => this.#declared(before, after));
    for (const monitor of monitors.values()) if (this.#isExported(monitor)) this.#exported += 1;
    if (this.#exported > 0) this.#startThread();
    else this.#forgetAll(this.#lastNote);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelChanges();
    this.#restarts.reset();
    this.#histories.stop();
    this.#notes.clear();
    this.#tests.ended();
    if (this.#worker === null) return;
    // Totals that are not stored are in the notes. The end does not wait for totals that are being stored, because the
    // database may accept no writes.
    const ended = this.#worker.terminate();
    const { promise: waited, resolve } = Promise.withResolvers<void>();
    const cancel = this.#parts.clock.after(END_WITHIN_MS, resolve);
    await Promise.race([ended, waited]);
    cancel();
  }

  noteOf(recorded: readonly (NotedResult & { monitor: LiveMonitor; isNew: boolean })[]): ExportNote | null {
    // Also while the thread is started again: it reads the notes that it has missed.
    const exported = recorded.filter(({ monitor, isNew }) => isNew && this.#isExported(monitor));
    const bytes = exported.length === 0 ? null : encodeNote(exported);
    if (bytes === null || this.#isFull(bytes.length)) return null;
    this.#lastNote += 1;
    return { id: this.#lastNote, bytes };
  }

  /** After the commit. */
  noted(note: ExportNote): void {
    if (!this.#isStopped) this.#notes.add(note);
  }

  /** The status of a monitor has changed; after the commit. */
  statusChanged(monitorId: number, at: number, status: MonitorStatus): void {
    const monitor = this.#parts.monitors.get(monitorId);
    if (monitor === undefined || !this.#isExported(monitor)) return;
    this.#tell({ kind: 'status', id: monitorId, change: { at, status } });
  }

  /** How it stands with the endpoints, a second ago at most. */
  get endpoints(): readonly EndpointState[] {
    return this.#states.endpoints;
  }

  /** Points since the start. */
  get points(): ExportedPoints {
    return this.#states.points;
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
    if (this.#worker === null) throw unavailable('is being started again after a failure');
    const withinMs = 2 * this.#parts.settings.timeoutMs + TEST_BESIDE_MS;
    const answer = await this.#tests.ask(withinMs, (request) =>
      this.#tell({ kind: 'test', request, monitorId }),
    );
    if (answer !== null) return answer;
    throw unavailable('does not run at this moment');
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
    const wasExported = before !== null && this.#isExported(before);
    const isExported = after !== null && this.#isExported(after);
    this.#exported += Number(isExported) - Number(wasExported);
    // A thread that ends, or is about to be started again, is followed by one that loads what is declared then.
    if (this.#endsAfter !== null) return;
    if (isExported) {
      if (this.#worker !== null) this.#tellDeclared(after);
      else if (this.#restarts.tries === 0) this.#startThread();
    } else if (wasExported) {
      this.#tell({ kind: 'monitor', id: before.id, entry: null });
      if (this.#exported === 0) this.#endThread();
    }
  }

  #endThread(): void {
    if (this.#worker === null) {
      this.#restarts.reset();
      this.#forgetAll(this.#lastNote);
    } else {
      this.#endsAfter = this.#lastNote;
      this.#tell({ kind: 'end' });
    }
  }

  /** Monitors were exported once: what is left of it must not be counted should they be again. */
  #forgetAll(lastNote: number): void {
    const { store } = this.#parts;
    const forget = async () => {
      await removeOrphans(store, () => false);
      if (lastNote > 0) await this.#removeNotes(lastNote);
    };
    this.#running = this.#running.then(forget).catch((error: unknown) => this.#failed(error));
  }

  /** At once, so that it is there before the notes that follow. Its history has to be read, and comes later. */
  #tellDeclared(monitor: LiveMonitor): void {
    const { id } = monitor;
    const target = targetOf(monitor, this.#parts.settings);
    if (target === null) return;
    const entry = { monitor: exportedMonitor(monitor), target, history: [], totals: null };
    this.#tell({ kind: 'monitor', id, entry });
    this.#histories.want(id);
  }

  #startThread(): void {
    if (this.#isStopped || this.#worker !== null) return;
    const { settings, thread, log } = this.#parts;
    const { intervalMs, saveEveryMs, timeoutMs, histograms, resource, tls } = settings;
    const identity = tls.identity === null ? null : { ...tls.identity, key: tls.identity.key.reveal() };
    const worker = new Worker(new URL('./export-worker.ts', import.meta.url), {
      name: 'export',
      workerData: {
        intervalMs,
        saveEveryMs,
        timeoutMs,
        histograms,
        resource,
        version: VERSION,
        operator: { ca: tls.ca, identity },
        ...thread,
      } satisfies ExportThreadData,
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    });
    worker.unref();
    worker.on('message', (message: FromExportThread) => this.#take(message));
    worker.on('error', (error) => log.error({ error: messageOf(error) }, 'the thread of the export failed'));
    worker.once('exit', () => this.#ended());
    this.#worker = worker;
    this.#threadStartedAt = this.#parts.clock.monotonic();
    this.#held = [];
    this.#notes.clear();
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
      const stored = new NoteBatch();
      for await (const note of loadNotes(store, last)) {
        if (!isCurrent()) return;
        stored.add(note);
        worker.postMessage({ kind: 'notes', batch: stored.take() } satisfies ToExportThread);
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

  /** After the notes that came before it. */
  #tell(message: ToExportThread): void {
    this.#notes.send();
    this.#post(message);
  }

  #post(message: ToExportThread): void {
    if (this.#held !== null) this.#held.push(message);
    else this.#worker?.postMessage(message);
  }

  #take(message: FromExportThread): void {
    switch (message.kind) {
      case 'state':
        this.#states.told(message.gone, message.endpoints, message.points);
        this.#notes.read(message.noted);
        return;
      case 'save':
        this.#running = this.#running.then(() => this.#save(message.totals));
        return;
      case 'tested':
        this.#tests.answered(message.request, message.answer);
        return;
      case 'ended':
        void this.#worker?.terminate();
        return;
      default:
        message satisfies never;
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

  #ended(): void {
    this.#worker = null;
    this.#held = null;
    this.#states.ended();
    this.#tests.ended();
    if (this.#isStopped) return;
    const { clock, log } = this.#parts;
    const lastNote = this.#endsAfter;
    if (lastNote !== null) {
      this.#endsAfter = null;
      this.#restarts.reset();
      log.info('the thread of the export has ended: no monitor is exported');
      this.#forgetAll(lastNote);
      if (this.#exported > 0) this.#startThread();
      return;
    }
    if (clock.monotonic() - this.#threadStartedAt > RAN_WELL_MS) this.#restarts.reset();
    const waitMs = this.#restarts.again(() => this.#startThread());
    log.error({ waitMs }, 'the thread of the export has ended, and is started again');
  }

  #failed(error: unknown): void {
    if (this.#isStopped) return;
    this.#parts.log.error({ error: messageOf(error) }, 'what is exported could not be read or stored');
  }
}
