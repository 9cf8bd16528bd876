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
import { statusHistories } from '../store/states/transitions.ts';
import type { Store } from '../store/store.ts';
import type { LiveMonitor, LiveMonitors } from '../verdict/monitor.ts';
import type { Shard } from '../verdict/shard.ts';
import { errorTypeOf } from './error-type.ts';
import { type Encoding, type ExportSettings, type ExportTarget, targetOf } from './export-settings.ts';
import type { Pipeline, PipelineState } from './pipeline.ts';
import type { ExportedMonitor } from './requests.ts';
import { countResult, identityOf, mostPoints, newTotals, readTotals, type Totals } from './totals.ts';

/**
 * Maximum number of monitors whose totals are read or written at once. Recording waits
 * some milliseconds for the transaction that writes totals.
 */
const PAGE = 100;
/** Span of the exported uptime, ms. */
const HISTORY_MS = 24 * 3_600_000;
/** How far in the future a change of status may be dated because a clock is ahead, ms. */
const AHEAD_MS = 60_000;
/** Number of points at which a request is full. The last monitor of a request may exceed the number. */
const MOST_POINTS = 2_000;
/**
 * Number of characters of names and targets at which a request is full. A text counts once for each point
 * that may have it. A full request has about 1 MB of JSON.
 */
const MOST_TEXT = 1_000_000;
/**
 * Interval at which svc checks whether totals must be stored, ms. New and
 * removed totals are stored at the next check.
 */
const SAVE_NEW_AFTER_MS = 1_000;
/** Pause after a failed attempt to store totals, ms. */
const SAVE_AGAIN_AFTER_MS = 10_000;
/** Pause between two parts of the stored totals, ms. It lets recording go first. */
const SAVE_PAUSE_MS = 20;

type Parts = {
  /** The shard whose monitors are exported. */
  readonly shard: Shard;
  readonly store: Store;
  readonly monitors: LiveMonitors;
  readonly settings: ExportSettings;
  /**
   * Makes the HTTP client for the operator's own endpoint, or for the endpoints that monitors declare. The
   * egress guard checks only the endpoints of monitors.
   */
  readonly createPost: (isOperators: boolean) => HttpPost;
  readonly clock: Clock;
  readonly log: Logger;
};

type RecordedResult = {
  readonly result: CheckResult;
  readonly region: Region;
  readonly monitor: LiveMonitor;
  /** Whether the result was recorded for the first time. */
  readonly isNew: boolean;
};

type Exported = {
  monitor: LiveMonitor;
  totals: Totals;
  /** Id of the last note that must not be counted any more: the totals have it, or they began after it. */
  until: number;
  /** Whether the totals differ from the stored totals of the monitor. */
  isUnsaved: boolean;
  destination: Destination;
};

type Destination = {
  readonly target: ExportTarget;
  readonly monitors: Set<number>;
  /** Null: totals, or the module with the pipeline's code, are still being loaded. */
  pipeline: Pipeline | null;
};

/** The state of the export to one endpoint. */
export type EndpointState = PipelineState & {
  readonly key: string;
  /** The URL, secrets removed. */
  readonly url: string;
  /** Workspace whose monitors declare the endpoint; null: the endpoint is the operator's own. */
  readonly workspaceId: number | null;
  readonly monitors: number;
};

/** Numbers of points that endpoints took, that endpoints rejected, and that svc dropped. */
export type ExportedPoints = Pick<PipelineState, 'taken' | 'rejected' | 'dropped'>;

export type TestAnswer = {
  readonly url: string;
  readonly points: number;
  readonly durationMs: number;
  /** Warnings about data that the endpoint may drop although its answer says that it took the data. */
  readonly warnings: readonly string[];
  /** One answer for each encoding that was tried. */
  readonly answers: readonly {
    readonly encoding: Encoding;
    readonly isTaken: boolean;
    readonly rejected: number;
    readonly error: string | null;
  }[];
};

/**
 * The endpoint of a monitor cannot be tested, because the monitor is not
 * exported, or totals are still being loaded.
 */
export class ExportTestError extends SvcError {
  constructor(code: 'not-exported' | 'export-unavailable', message: string) {
    super(code, message);
  }
}

/**
 * Exports the metrics of a shard's monitors over OTLP.
 *
 *     recorder ── makeExportNote ──▶ its transaction ── countExportNote ──▶ totals ── each interval ──▶ pipelines
 *                                       │                                   │ ▲                           │
 *                                 stored notes ───── at a start ────────────┼─┤                           ▼
 *                                 stored totals ──── at a start ────────────┼─┘                       endpoints
 *                                       ▲─────────── every 10 min ──────────┘
 *
 * A note has the exported results of one transaction, and is stored in this transaction. A
 * note is kept until all totals that count it are stored. So each result counts once, whenever
 * the process ends. Totals are loaded in the background. Notes that are recorded meanwhile are
 * not counted at once: the loading reads them from the store.
 */
export class MetricsExport {
  readonly #parts: Parts;
  /** The exported monitors by their ids. */
  readonly #exported = new Map<number, Exported>();
  /** The destinations by the keys of their targets. */
  readonly #destinations = new Map<string, Destination>();
  /** Monitors that are no longer exported, but have stored totals. */
  readonly #forgotten = new Set<number>();
  readonly #posts = new Map<boolean, HttpPost>();
  readonly #reloading: GrowingWaits;
  /** Id of the newest stored note at the time of {@link load}. */
  #lastAtStart = 0;
  /** Id of the last note that was made. */
  #lastMade = 0;
  /** Id of the last note that was recorded. */
  #lastNoted = 0;
  #isLoaded = false;
  /** Monitors whose declaration changed while totals were loaded. */
  readonly #changed = new Set<number>();
  readonly #stopping = new AbortController();
  /**
   * Whether totals are stored at the next check, and not only at {@link #saveAt}: totals were loaded, created
   * or removed, or could not be stored. A restart then knows when totals began.
   */
  #hasNew = false;
  #isSaving = false;
  /** When changed totals are stored next, monotonic ms. */
  #saveAt = 0;
  /** Earliest instant of the next attempt to store totals after a failed one, monotonic ms. */
  #saveNotBefore = 0;
  /** Numbers of points of the pipelines that have stopped. */
  #ofClosed: ExportedPoints = { taken: 0, rejected: 0, dropped: 0 };
  #lastTurn: Promise<void> = Promise.resolve();
  #cancels: (() => void)[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#reloading = new GrowingWaits(parts.clock);
  }

  /** Reads the id of the last stored note of all shards. Call it before anything is recorded. */
  async load(): Promise<void> {
    this.#lastAtStart = await lastNote(this.#parts.store);
    this.#lastMade = this.#lastAtStart;
    this.#lastNoted = this.#lastAtStart;
  }

  /** Begins to load totals and to export. Call it after the monitors are loaded. */
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

  /** Stops the export. Counts that are not stored in totals are in the stored notes. */
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

  /** Counts a recorded note. Call it after the commit. */
  countExportNote(note: ExportNote): void {
    this.#lastNoted = note.id;
    if (this.#isLoaded) this.#count(note);
  }

  /** The state of each endpoint whose pipeline runs. */
  get endpoints(): readonly EndpointState[] {
    return [...this.#destinations.values()].flatMap(({ target, monitors, pipeline }) => {
      if (pipeline === null) return [];
      const { key, url, workspaceId } = target;
      return [{ ...pipeline.state, key, url: urlSecrets.left(url), workspaceId, monitors: monitors.size }];
    });
  }

  /** Numbers of points since the start, closed pipelines included. */
  get points(): ExportedPoints {
    return this.endpoints.reduce(addPoints, this.#ofClosed);
  }

  /**
   * Sends the present data of the monitor to its endpoint now, and returns the answers.
   *
   * @throws ExportTestError if the monitor is not exported, or totals are still being loaded
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

  /**
   * Loads the totals, and counts the notes that the totals do not have
   * yet. If this fails, it is tried again later.
   */
  async #loadTotals(): Promise<void> {
    const { store, monitors, shard } = this.#parts;
    this.#exported.clear();
    this.#destinations.clear();
    try {
      const exported = [...monitors.values()].filter((monitor) => this.#isExported(monitor));
      const stored = new Set(await monitorsWithTotals(store, shard));
      for (let start = 0; start < exported.length; start += PAGE) {
        const page = exported.slice(start, start + PAGE);
        const rows = await totalsOf(
          store,
          page.map(({ id }) => id),
        );
        if (this.#stopping.signal.aborted) return;
        for (const monitor of page) this.#exportMonitor(monitor, rows.get(monitor.id) ?? null);
      }
      for (const id of stored) if (!this.#exported.has(id)) this.#forgotten.add(id);
      for (let after = 0; after < this.#lastNoted; ) {
        // The answer may lack notes that are recorded while the query runs.
        const before = this.#lastNoted;
        const notes = await notesAfter(store, after, shard);
        if (this.#stopping.signal.aborted) return;
        this.#declareChanged();
        for (const note of notes) this.#count(note);
        after = notes.at(-1)?.id ?? before;
      }
    } catch (error) {
      await this.#handleUnsaved(error);
      if (!this.#stopping.signal.aborted) this.#reloading.scheduleRetry(() => void this.#loadTotals());
      return;
    }
    this.#declareChanged();
    this.#isLoaded = true;
    this.#hasNew = true;
    for (const destination of this.#destinations.values()) void this.#openPipeline(destination);
  }

  /**
   * Applies the declarations that changed while totals were loaded. Call it before later notes are counted.
   */
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

  /** Exports the monitor as it is declared now, or stops its export. */
  #declare(id: number): void {
    const monitor = this.#parts.monitors.get(id);
    if (monitor !== undefined && this.#isExported(monitor)) this.#exportMonitor(monitor, null);
    else this.#stopExport(id);
  }

  /**
   * Begins or updates the export of the monitor.
   *
   * @param row the stored totals; null: begin new totals, unless the
   *   monitor has totals of the same identity in memory
   */
  #exportMonitor(monitor: LiveMonitor, row: { readonly until: number; readonly text: string } | null): void {
    const { settings, clock } = this.#parts;
    const target = targetOf(monitor, settings);
    if (target === null) return;
    const { id } = monitor;
    const identity = identityOf(monitor, settings.histograms);
    const known = this.#exported.get(id);
    const destination = this.#destinationOf(target);
    if (known !== undefined && known.destination !== destination)
      this.#leaveDestination(id, known.destination);
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
   * Id of the note after which new totals begin to count.
   *
   * @param hadOthers whether the monitor has totals of another identity, which count its earlier notes
   */
  #beginsAfter(hadOthers: boolean): number {
    if (this.#isLoaded) return this.#lastNoted;
    return hadOthers ? this.#lastAtStart : 0;
  }

  #stopExport(id: number): void {
    const known = this.#exported.get(id);
    if (known === undefined) return;
    this.#exported.delete(id);
    this.#leaveDestination(id, known.destination);
    this.#forgotten.add(id);
    this.#hasNew = true;
  }

  #destinationOf(target: ExportTarget): Destination {
    const known = this.#destinations.get(target.key);
    if (known !== undefined) return known;
    const destination: Destination = { target, monitors: new Set(), pipeline: null };
    this.#destinations.set(target.key, destination);
    if (this.#isLoaded) void this.#openPipeline(destination);
    return destination;
  }

  async #openPipeline(destination: Destination): Promise<void> {
    const { clock, settings } = this.#parts;
    const { target, monitors } = destination;
    // The module is imported only here: the modules of OpenTelemetry take
    // memory, and many coordinators export nothing.
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
      onError: (error) => this.#logFailure(error),
    });
    // The spread is derived from the key, so an endpoint has the same spread after every start.
    const spread = createHash('sha256').update(target.key).digest().readUInt32BE() / 2 ** 32;
    void destination.pipeline.run(spread);
  }

  #postTo({ workspaceId }: ExportTarget): HttpPost {
    const isOperators = workspaceId === null;
    const post = this.#posts.get(isOperators) ?? this.#parts.createPost(isOperators);
    this.#posts.set(isOperators, post);
    return post;
  }

  /**
   * Removes a monitor from its destination. A destination without
   * monitors is removed, and its pipeline stops.
   */
  #leaveDestination(id: number, { target, monitors, pipeline }: Destination): void {
    monitors.delete(id);
    if (monitors.size > 0) return;
    this.#destinations.delete(target.key);
    if (pipeline === null) return;
    // The points are added after the stop, because the stop counts the points that it drops.
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
   * Resolves when the next piece of a request may be made. In each turn of the event loop, only one endpoint
   * makes one piece, because the exports of all endpoints may be due at once.
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
    // `until` is set after the loop, because a note may have several results of one monitor.
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
      await this.#handleUnsaved(error);
      this.#hasNew = true;
      this.#saveNotBefore = clock.monotonic() + SAVE_AGAIN_AFTER_MS;
    }
    this.#isSaving = false;
  }

  /** Stores changed totals in parts, and then removes the notes that all totals have. */
  async #save(): Promise<void> {
    const { store, clock, shard } = this.#parts;
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
    if (!this.#stopping.signal.aborted) await removeNotes(store, until, shard);
  }

  /**
   * Logs that totals could not be loaded or stored. If the notes exceed their maximum size, this
   * function removes all notes and all stored totals of the shard. Totals in memory are stored again
   * later; if the process ends before that, or if the totals were not loaded yet, counts begin at 0.
   */
  async #handleUnsaved(error: unknown): Promise<void> {
    this.#logFailure(error);
    const { store, settings, log, shard } = this.#parts;
    try {
      if (this.#stopping.signal.aborted || (await bytesOfNotes(store, shard)) <= settings.mostNoteBytes)
        return;
      for (const exported of this.#exported.values()) exported.isUnsaved = true;
      await removeCounts(store, this.#lastNoted, shard);
      log.error(
        { bytes: settings.mostNoteBytes },
        'the notes of exported counts grew too large, because totals could not be stored: svc removed the notes and the stored totals',
      );
    } catch (later) {
      this.#logFailure(later);
    }
  }

  #logFailure(error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    this.#parts.log.error({ error: messageOf(error) }, 'cannot read or store exported counts now');
  }
}

/** The members of a result that are counted; null: the check did not run. */
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
