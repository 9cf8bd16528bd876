import { createHash } from 'node:crypto';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import { resourceWarnings } from '@svc/shared/otlp/without-effect.ts';
import type { Region } from '@svc/shared/regions.ts';
import { urlSecrets } from '@svc/shared/url-secrets.ts';
import { GrowingWaits, pause } from '@svc/shared/waiting.ts';
import type { HttpPost } from '../outgoing/http-post.ts';
import {
  bytesOfNotes,
  type CountedResult,
  type ExportNote,
  lastNote,
  monitorsWithTotals,
  notesAfter,
  removeCounts,
  removeNotes,
  removeTotals,
  totalsOf,
  writeTotals,
} from '../store/export-totals.ts';
import { statusHistories } from '../store/states/status-history.ts';
import type { Store } from '../store/store.ts';
import type { LiveMonitor, LiveMonitors } from '../verdict/monitor.ts';
import { errorTypeOf } from './error-type.ts';
import { type Encoding, type ExportSettings, type ExportTarget, targetOf } from './export-settings.ts';
import type { Pipeline, PipelineState } from './pipeline.ts';
import type { ExportedMonitor } from './requests.ts';
import { countResult, identityOf, mostPoints, newTotals, readTotals, type Totals } from './totals.ts';

/** Monitors of one read, and rows of one transaction: recording waits for it, some milliseconds. */
const PAGE = 100;
/** Span of the exported uptime, and how far ahead a clock may date changes, ms. */
const HISTORY_MS = 24 * 3_600_000;
const AHEAD_MS = 60_000;
/** Of one request: some megabyte of JSON. Each point repeats the name and the target. */
const MOST_POINTS = 2_000;
const MOST_TEXT = 1_000_000;
/** Delay after which totals that begin or end are stored, ms. */
const SAVE_NEW_AFTER_MS = 1_000;
/** Pause after totals that could not be stored, ms. */
const SAVE_AGAIN_AFTER_MS = 10_000;
/** Between two parts of what is stored, ms: recording goes first. */
const SAVE_PAUSE_MS = 20;

type Parts = {
  readonly store: Store;
  readonly monitors: LiveMonitors;
  readonly settings: ExportSettings;
  /** For the operator's own endpoint, or for those of monitors, which the guard judges. */
  readonly createPost: (isOperators: boolean) => HttpPost;
  readonly clock: Clock;
  readonly log: Logger;
};

type RecordedResult = {
  readonly result: CheckResult;
  readonly region: Region;
  readonly monitor: LiveMonitor;
  /** It was not recorded before. */
  readonly isNew: boolean;
};

type Exported = {
  monitor: LiveMonitor;
  totals: Totals;
  /** Notes up to this one are in the totals. */
  until: number;
  /** The totals are not stored as they are. */
  isUnsaved: boolean;
  destination: Destination;
};

type Destination = {
  readonly target: ExportTarget;
  readonly monitors: Set<number>;
  /** Null: its code is being loaded. */
  pipeline: Pipeline | null;
};

/** How it stands with one endpoint. */
export type EndpointState = PipelineState & {
  readonly key: string;
  /** The URL without its secret parts. */
  readonly url: string;
  /** Null: the operator's default. */
  readonly workspaceId: number | null;
  readonly monitors: number;
};

/** The fate of points that were sent, or should have been. */
export type ExportedPoints = Pick<PipelineState, 'taken' | 'rejected' | 'dropped'>;

export type TestAnswer = {
  readonly url: string;
  readonly points: number;
  readonly durationMs: number;
  /** What the endpoint may drop although it says that it takes it. */
  readonly warnings: readonly string[];
  /** One, or one for each encoding. */
  readonly answers: readonly {
    readonly encoding: Encoding;
    readonly isTaken: boolean;
    readonly rejected: number;
    readonly error: string | null;
  }[];
};

/** The test of an endpoint cannot be made. */
export class ExportTestError extends SvcError {
  constructor(code: 'not-exported' | 'export-unavailable', message: string) {
    super(code, message);
  }
}

/**
 * The export of monitors' metrics over OTLP.
 *
 *     recorder ── makeExportNote ──▶ its transaction ── countExportNote ──▶ totals ── at each interval ──▶ pipelines ──▶ endpoints
 *                                 │                        │ ▲
 *                              notes ──── at a start ──────┼─┘
 *                              totals ◀─── every 10 min ───┘
 *
 * A note has the exported results of a transaction and is stored with them. It is kept until all totals that have it are stored:
 * so each result counts once, whenever the process ends. Totals are loaded beside everything else. Until then notes are not
 * counted as they come, because the loading reads them.
 */
export class MetricsExport {
  readonly #parts: Parts;
  /** By monitor. */
  readonly #exported = new Map<number, Exported>();
  /** By the key of their target. */
  readonly #destinations = new Map<string, Destination>();
  /** Monitors with stored totals that are not exported any more. */
  readonly #forgotten = new Set<number>();
  readonly #posts = new Map<boolean, HttpPost>();
  readonly #reloading: GrowingWaits;
  /** Ids of the last note that the start found, of the last one that was made, and of the last one that is recorded. */
  #lastAtStart = 0;
  #lastMade = 0;
  #lastNoted = 0;
  #isLoaded = false;
  /** Monitors whose declaration has changed while totals were loaded. */
  readonly #changed = new Set<number>();
  readonly #stopping = new AbortController();
  /** Totals begin or end: that is stored soon, so that a restart knows when they began. */
  #hasNew = false;
  #isSaving = false;
  /** On the monotonic clock, ms: when totals are stored, and before which nothing is, because it failed. */
  #saveAt = 0;
  #saveNotBefore = 0;
  #ofClosed: ExportedPoints = { taken: 0, rejected: 0, dropped: 0 };
  #lastTurn: Promise<void> = Promise.resolve();
  #cancels: (() => void)[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#reloading = new GrowingWaits(parts.clock);
  }

  /** Call it before anything is recorded. */
  async load(): Promise<void> {
    this.#lastAtStart = await lastNote(this.#parts.store);
    this.#lastMade = this.#lastAtStart;
    this.#lastNoted = this.#lastAtStart;
  }

  /** After the monitors are loaded. */
  start(): void {
    const { monitors, clock, settings } = this.#parts;
    this.#saveAt = clock.monotonic() + settings.saveEveryMs;
    this.#cancels = [
      monitors.onChange((before, after) => this.#declared(before, after)),
      clock.every(SAVE_NEW_AFTER_MS, () => void this.#saveWhereDue()),
      () => this.#reloading.endWait(),
    ];
    void this.#loadTotals();
  }

  /** Totals that are not stored are in the notes. */
  stop(): void {
    this.#stopping.abort();
    for (const cancel of this.#cancels) cancel();
    for (const { pipeline } of this.#destinations.values()) pipeline?.stop();
  }

  makeExportNote(recorded: readonly RecordedResult[]): ExportNote | null {
    const results = recorded.flatMap(({ result, region, monitor, isNew }) => {
      const counted = isNew && this.#isExported(monitor) ? countedOf(result, region) : null;
      return counted === null ? [] : [counted];
    });
    if (results.length === 0) return null;
    this.#lastMade += 1;
    return { id: this.#lastMade, results };
  }

  /** After the commit. */
  countExportNote(note: ExportNote): void {
    this.#lastNoted = note.id;
    if (this.#isLoaded) this.#count(note);
  }

  /** How it stands with the endpoints. */
  get endpoints(): readonly EndpointState[] {
    return [...this.#destinations.values()].flatMap(({ target, monitors, pipeline }) => {
      if (pipeline === null) return [];
      const { key, url, workspaceId } = target;
      return [{ ...pipeline.state, key, url: urlSecrets.left(url), workspaceId, monitors: monitors.size }];
    });
  }

  /** Points since the start. */
  get points(): ExportedPoints {
    return this.endpoints.reduce(addPoints, this.#ofClosed);
  }

  /**
   * Sends what is exported of the monitor to its endpoint, now.
   *
   * @throws ExportTestError
   */
  async testEndpoint(monitorId: number): Promise<TestAnswer> {
    const { monitors, clock, settings } = this.#parts;
    const monitor = monitors.get(monitorId);
    if (monitor === undefined || !this.#isExported(monitor)) {
      throw new ExportTestError(
        'not-exported',
        'the monitor has no otlp_endpoint, and OTEL_EXPORTER_OTLP_ENDPOINT is not set',
      );
    }
    const { pipeline = null, target } = this.#exported.get(monitorId)?.destination ?? {};
    if (pipeline === null || target === undefined)
      throw new ExportTestError('export-unavailable', 'the export is still being loaded');
    const begunAt = clock.monotonic();
    const answers = await pipeline.testNow([monitorId]);
    return {
      url: urlSecrets.left(target.url),
      points: answers.at(-1)?.points ?? 0,
      durationMs: clock.monotonic() - begunAt,
      warnings: resourceWarnings(settings.resource),
      answers: answers.map(({ encoding, verdict }) => ({
        encoding,
        isTaken: verdict.is === 'taken',
        rejected: verdict.is === 'taken' ? verdict.rejected : 0,
        error: verdict.error,
      })),
    };
  }

  #isExported(monitor: LiveMonitor): boolean {
    return monitor.declaredExport !== null || this.#parts.settings.fallback !== null;
  }

  /** Reads totals, and the notes that they do not have yet, until nothing is left to read. */
  async #loadTotals(): Promise<void> {
    const { store, monitors } = this.#parts;
    this.#exported.clear();
    this.#destinations.clear();
    try {
      const exported = [...monitors.values()].filter((monitor) => this.#isExported(monitor));
      const stored = new Set(await monitorsWithTotals(store));
      for (let start = 0; start < exported.length; start += PAGE) {
        const page = exported.slice(start, start + PAGE);
        const rows = await totalsOf(
          store,
          page.map(({ id }) => id),
        );
        if (this.#stopping.signal.aborted) return;
        for (const monitor of page) this.#put(monitor, rows.get(monitor.id) ?? null);
      }
      for (const id of stored) if (!this.#exported.has(id)) this.#forgotten.add(id);
      for (let after = 0; after < this.#lastNoted; ) {
        const notes = await notesAfter(store, after);
        if (this.#stopping.signal.aborted) return;
        this.#declareChanged();
        for (const note of notes) this.#count(note);
        after = notes.at(-1)?.id ?? this.#lastNoted;
      }
    } catch (error) {
      await this.#unsaved(error);
      if (!this.#stopping.signal.aborted) this.#reloading.scheduleRetry(() => void this.#loadTotals());
      return;
    }
    this.#declareChanged();
    this.#isLoaded = true;
    this.#hasNew = true;
    for (const destination of this.#destinations.values()) void this.#open(destination);
  }

  /** What was declared while totals were loaded: before the notes that followed are counted. */
  #declareChanged(): void {
    for (const id of this.#changed) this.#declare(id);
    this.#changed.clear();
  }

  #declared(before: LiveMonitor | null, after: LiveMonitor | null): void {
    const id = after?.id ?? before?.id;
    if (id === undefined) return;
    if (this.#isLoaded) this.#declare(id);
    else this.#changed.add(id);
  }

  /** Exports the monitor as it is declared now, or not any more. */
  #declare(id: number): void {
    const monitor = this.#parts.monitors.get(id);
    if (monitor !== undefined && this.#isExported(monitor)) this.#put(monitor, null);
    else this.#remove(id);
  }

  /** @param row the stored totals; null: there are none */
  #put(monitor: LiveMonitor, row: { readonly until: number; readonly text: string } | null): void {
    const { settings, clock } = this.#parts;
    const target = targetOf(monitor, settings);
    if (target === null) return;
    const { id } = monitor;
    const identity = identityOf(monitor, settings.histograms);
    const known = this.#exported.get(id);
    const destination = this.#destinationOf(target);
    if (known !== undefined && known.destination !== destination) this.#leave(id, known.destination);
    destination.monitors.add(id);
    this.#forgotten.delete(id);
    if (known?.totals.identity === identity) {
      Object.assign(known, { monitor, destination });
      return;
    }
    const restored = row === null ? null : readTotals(row.text, identity);
    const totals = restored ?? newTotals(identity, clock.wall());
    const until =
      row !== null && restored !== null ? row.until : this.#beginsAfter(row !== null || known !== undefined);
    this.#exported.set(id, { monitor, totals, until, isUnsaved: restored === null, destination });
    this.#hasNew ||= restored === null;
  }

  /**
   * The last note that new totals do not have: those of other attributes are passed over.
   *
   * @param hadOthers the monitor has totals under other attributes
   */
  #beginsAfter(hadOthers: boolean): number {
    if (this.#isLoaded) return this.#lastNoted;
    return hadOthers ? this.#lastAtStart : 0;
  }

  #remove(id: number): void {
    const known = this.#exported.get(id);
    if (known === undefined) return;
    this.#exported.delete(id);
    this.#leave(id, known.destination);
    this.#forgotten.add(id);
    this.#hasNew = true;
  }

  #destinationOf(target: ExportTarget): Destination {
    const known = this.#destinations.get(target.key);
    if (known !== undefined) return known;
    const destination: Destination = { target, monitors: new Set(), pipeline: null };
    this.#destinations.set(target.key, destination);
    if (this.#isLoaded) void this.#open(destination);
    return destination;
  }

  async #open(destination: Destination): Promise<void> {
    const { clock, settings } = this.#parts;
    const { target, monitors } = destination;
    // Loaded only here: the modules of OpenTelemetry take some memory, which many coordinators do not need.
    const { Pipeline } = await import('./pipeline.ts');
    if (this.#stopping.signal.aborted || this.#destinations.get(target.key) !== destination) return;
    destination.pipeline = new Pipeline({
      target,
      settings,
      post: this.#postTo(target),
      clock,
      batches: () => this.#batchesOf(monitors),
      read: (ids) => this.#read(ids.filter((id) => monitors.has(id))),
      turn: () => this.#turn(),
      onError: (error) => this.#failed(error),
    });
    // The same place for an endpoint after every start.
    const spread = createHash('sha256').update(target.key).digest().readUInt32BE() / 2 ** 32;
    void destination.pipeline.run(spread);
  }

  #postTo({ workspaceId }: ExportTarget): HttpPost {
    const isOperators = workspaceId === null;
    const post = this.#posts.get(isOperators) ?? this.#parts.createPost(isOperators);
    this.#posts.set(isOperators, post);
    return post;
  }

  /** The last monitor of an endpoint takes the pipeline with it. */
  #leave(id: number, { target, monitors, pipeline }: Destination): void {
    monitors.delete(id);
    if (monitors.size > 0) return;
    this.#destinations.delete(target.key);
    if (pipeline === null) return;
    // It counts what it drops.
    pipeline.stop();
    this.#ofClosed = addPoints(this.#ofClosed, pipeline.state);
  }

  *#batchesOf(ids: ReadonlySet<number>): Generator<number[]> {
    let batch: number[] = [];
    let points = 0;
    let text = 0;
    for (const id of ids) {
      const exported = this.#exported.get(id);
      if (exported === undefined) continue;
      batch.push(id);
      const { monitor, totals } = exported;
      const most = mostPoints(totals);
      points += most;
      text += most * (monitor.name.length + monitor.target.length);
      if (points < MOST_POINTS && text < MOST_TEXT) continue;
      yield batch;
      batch = [];
      points = 0;
      text = 0;
    }
    if (batch.length > 0) yield batch;
  }

  async #read(ids: readonly number[]): Promise<ExportedMonitor[]> {
    const { store, clock } = this.#parts;
    const now = clock.wall();
    const histories = await statusHistories(store, ids, { from: now - HISTORY_MS, until: now + AHEAD_MS });
    return ids.flatMap((id) => {
      const exported = this.#exported.get(id);
      return exported === undefined ? [] : [{ ...exported, history: histories.get(id) ?? [] }];
    });
  }

  /**
   * Resolves when a piece of a request may be made: one in a turn of the event loop, because all endpoints may be due at
   * once.
   */
  #turn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => new Promise((resume) => setImmediate(resume)));
    return this.#lastTurn;
  }

  #count({ id, results }: ExportNote): void {
    const { clock, settings } = this.#parts;
    const at = clock.wall();
    const counted = new Set<Exported>();
    for (const result of results) {
      const exported = this.#exported.get(result.monitor);
      if (exported === undefined || id <= exported.until) continue;
      countResult(exported.totals, result, settings.histograms, at);
      counted.add(exported);
    }
    // Not before: a note may have several results of a monitor.
    for (const exported of counted) Object.assign(exported, { until: id, isUnsaved: true });
  }

  async #saveWhereDue(): Promise<void> {
    const { clock, settings } = this.#parts;
    const now = clock.monotonic();
    const isDue = now >= this.#saveNotBefore && (this.#hasNew || now >= this.#saveAt);
    if (!this.#isLoaded || this.#isSaving || !isDue) return;
    this.#isSaving = true;
    this.#hasNew = false;
    this.#saveAt = now + settings.saveEveryMs;
    try {
      await this.#save();
    } catch (error) {
      await this.#unsaved(error);
      this.#hasNew = true;
      this.#saveNotBefore = clock.monotonic() + SAVE_AGAIN_AFTER_MS;
    }
    this.#isSaving = false;
  }

  /** Stores totals that have changed, some at a time, and then removes the notes that they have. */
  async #save(): Promise<void> {
    const { store, clock } = this.#parts;
    const until = this.#lastNoted;
    const forgotten = [...this.#forgotten];
    if (forgotten.length > 0) await removeTotals(store, forgotten);
    for (const id of forgotten) this.#forgotten.delete(id);
    const unsaved = [...this.#exported.values()].filter(({ isUnsaved }) => isUnsaved);
    for (let start = 0; start < unsaved.length && !this.#stopping.signal.aborted; start += PAGE) {
      const part = unsaved.slice(start, start + PAGE);
      const rows = part.map(({ monitor, until: noted, totals }) => ({
        monitorId: monitor.id,
        until: noted,
        text: JSON.stringify(totals),
      }));
      for (const exported of part) exported.isUnsaved = false;
      try {
        await writeTotals(store, rows);
      } catch (error) {
        for (const exported of part) exported.isUnsaved = true;
        throw error;
      }
      await pause(clock, SAVE_PAUSE_MS, this.#stopping.signal);
    }
    if (!this.#stopping.signal.aborted) await removeNotes(store, until);
  }

  /** Totals could not be loaded or stored. Notes are kept up to a bound; beyond it the next start counts anew. */
  async #unsaved(error: unknown): Promise<void> {
    this.#failed(error);
    const { store, settings, log } = this.#parts;
    try {
      if (this.#stopping.signal.aborted || (await bytesOfNotes(store)) <= settings.mostNoteBytes) return;
      for (const exported of this.#exported.values()) exported.isUnsaved = true;
      await removeCounts(store, this.#lastNoted);
      log.error({ bytes: settings.mostNoteBytes }, 'exported counts are removed: their notes had no room');
    } catch (later) {
      this.#failed(later);
    }
  }

  #failed(error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    this.#parts.log.error({ error: messageOf(error) }, 'what is exported could not be read or stored');
  }
}

/** What is counted of a result; null: it did not run. */
function countedOf(result: CheckResult, region: Region): CountedResult | null {
  const { monitor, outcome, status_code, latency, certificate_expires_at, phases } = result;
  if (outcome === 'not_run') return null;
  const error_type =
    outcome === 'failed' ? errorTypeOf(result.error_message, result.timed_out === true) : undefined;
  return { monitor, region, outcome, status_code, error_type, latency, certificate_expires_at, phases };
}

function addPoints(some: ExportedPoints, more: ExportedPoints): ExportedPoints {
  return {
    taken: some.taken + more.taken,
    rejected: some.rejected + more.rejected,
    dropped: some.dropped + more.dropped,
  };
}
