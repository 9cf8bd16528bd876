import { createHash } from 'node:crypto';
import type { Clock } from '@svc/shared/clock.ts';
import { SCOPE_NAME } from '@svc/shared/otlp/scope.ts';
import { urlSecrets } from '@svc/shared/url-secrets.ts';
import type { HttpPost } from '../outgoing/http-post.ts';
import { Attributes } from './attributes.ts';
import { createEncoder } from './encoders.ts';
import { ExportedMonitors } from './exported-monitors.ts';
import { readBatch } from './note-batch.ts';
import { type Collected, type ExportTarget, Pipeline } from './pipeline.ts';
import { encodeLog } from './point-log.ts';
import type {
  EndpointState,
  ExportEntry,
  ExportedPoints,
  ExportThreadData,
  FromExportThread,
  SavedTotals,
  TestAnswer,
  ToExportThread,
} from './protocol.ts';
import type { CollectedForm, RequestEncoder } from './request-encoder.ts';
import { addPoints, NO_POINTS } from './told-states.ts';

/** Delay after which new totals are stored, ms. */
const SAVE_NEW_AFTER_MS = 1_000;
const TELL_EVERY_MS = 1_000;
/** Pause after totals that could not be stored, ms. */
const SAVE_AGAIN_AFTER_MS = 10_000;
/** Between two parts of what is stored, ms: recording goes first. */
const SAVE_PAUSE_MS = 20;
/** Of one request; receivers take 4 MiB and more. A request costs about as much CPU as a thousand points. */
const MOST_POINTS = 8_000;
const MOST_BYTES = 3.5 * 1_024 * 1_024;

type Parts = {
  readonly data: Pick<ExportThreadData, 'intervalMs' | 'saveEveryMs' | 'histograms' | 'resource' | 'version'>;
  readonly clock: Clock;
  /** For endpoints of monitors, which the guard judges, and for the operator's own. */
  readonly post: { readonly guarded: HttpPost; readonly free: HttpPost };
  readonly tell: (message: FromExportThread) => void;
};

type Destination = {
  readonly pipeline: Pipeline;
  /** Its URL without what of it is secret. */
  readonly url: string;
  readonly monitors: Set<number>;
  /** What its state was last told with: the changes of its pipeline, and the number of its monitors. */
  readonly told: { changes: number; monitors: number };
};

/** The work of the export's thread: it keeps totals, sends them to their endpoints, and has them stored. */
export class ExportThread {
  readonly #parts: Parts;
  readonly #monitors: ExportedMonitors;
  readonly #destinations = new Map<string, Destination>();
  readonly #targets = new Map<number, ExportTarget>();
  readonly #encoders = new Map<CollectedForm, RequestEncoder>();
  readonly #timers: (() => void)[] = [];
  /** Keys of endpoints that are gone since states were last told. */
  #gone: string[] = [];
  #ofClosed = NO_POINTS;
  #hasBegun = false;
  #isSaving = false;
  /** On the monotonic clock, ms: when totals are stored, and before which nothing is, because it failed. */
  #saveAt: number;
  #saveNotBefore = 0;
  #onSaved: (isSaved: boolean) => void = () => {};

  constructor(parts: Parts) {
    this.#parts = parts;
    const { clock, data } = parts;
    this.#monitors = new ExportedMonitors({ histograms: data.histograms, clock });
    this.#saveAt = clock.monotonic() + data.saveEveryMs;
  }

  take(message: ToExportThread): void {
    switch (message.kind) {
      case 'entries':
        for (const entry of message.entries) this.#put(entry, message.lastNote);
        return;
      case 'notes':
        readBatch(message.batch, (id, bytes) => this.#monitors.note(id, bytes));
        return;
      case 'begin':
        this.#begin();
        return;
      case 'monitor':
        if (message.entry === null) this.#remove(message.id);
        else this.#put(message.entry, this.#monitors.noted);
        return;
      case 'history':
        this.#monitors.knows(message.id, message.history);
        return;
      case 'status':
        this.#monitors.changed(message.id, message.change);
        return;
      case 'saved':
        this.#onSaved(message.isSaved);
        return;
      case 'test':
        void this.#test(message.request, message.monitorId);
        return;
      case 'end':
        this.stop();
        this.#tellState();
        this.#parts.tell({ kind: 'ended' });
        return;
      default:
        message satisfies never;
    }
  }

  stop(): void {
    for (const cancel of this.#timers) cancel();
    for (const { pipeline } of this.#destinations.values()) pipeline.stop();
    this.#onSaved(false);
  }

  #begin(): void {
    this.#hasBegun = true;
    for (const { pipeline } of this.#destinations.values()) start(pipeline);
    const { clock } = this.#parts;
    this.#timers.push(
      clock.every(TELL_EVERY_MS, () => this.#tellState()),
      clock.every(SAVE_NEW_AFTER_MS, () => void this.#saveWhereDue()),
    );
  }

  #put(entry: ExportEntry, lastNote: number): void {
    const { id } = entry.monitor;
    const { target } = entry;
    this.#monitors.put(entry, lastNote);
    if (this.#targets.get(id)?.key === target.key) return;
    this.#leave(id);
    const destination = this.#destinations.get(target.key) ?? this.#open(target);
    // The object of its first monitor, because each monitor from another thread has a copy of its own.
    this.#targets.set(id, destination.pipeline.target);
    destination.monitors.add(id);
  }

  #remove(id: number): void {
    this.#leave(id);
    this.#monitors.remove(id);
  }

  #open(target: ExportTarget): Destination {
    const { clock, post, data } = this.#parts;
    const monitors = new Set<number>();
    const pipeline = new Pipeline({
      target,
      post: target.workspaceId === null ? post.free : post.guarded,
      clock,
      intervalMs: data.intervalMs,
      endpoints: () => this.#destinations.size,
      collect: (form) => this.#collect(monitors, form),
      encode: (log, encoding) =>
        encodeLog(log, data.histograms, (at) => this.#encoder(encoding, at)).finish(),
    });
    const url = urlSecrets.left(target.url);
    const destination = { pipeline, url, monitors, told: { changes: -1, monitors: 0 } };
    this.#destinations.set(target.key, destination);
    if (this.#hasBegun) start(pipeline);
    return destination;
  }

  /** The last monitor of an endpoint takes the pipeline with it. */
  #leave(id: number): void {
    const target = this.#targets.get(id);
    if (target === undefined) return;
    this.#targets.delete(id);
    const destination = this.#destinations.get(target.key);
    destination?.monitors.delete(id);
    if (destination?.monitors.size !== 0) return;
    // It counts what it drops.
    destination.pipeline.stop();
    this.#ofClosed = addPoints(this.#ofClosed, destination.pipeline.state);
    this.#destinations.delete(target.key);
    this.#gone.push(target.key);
  }

  *#collect(monitors: ReadonlySet<number>, form: CollectedForm): Generator<Collected> {
    const at = this.#parts.clock.wall();
    let encoder = this.#encoder(form, at);
    for (const id of monitors) {
      this.#monitors.get(id)?.encode(encoder, at);
      if (encoder.points < MOST_POINTS && encoder.bytes < MOST_BYTES) continue;
      yield { body: encoder.finish(), points: encoder.points };
      encoder = this.#encoder(form, at);
    }
    if (encoder.points > 0) yield { body: encoder.finish(), points: encoder.points };
  }

  /** The same one each time: a body is compressed, or copied, before the next is begun. */
  #encoder(form: CollectedForm, at: number): RequestEncoder {
    const { resource, version, histograms } = this.#parts.data;
    const scope = { name: SCOPE_NAME, version };
    const frame = { resource: new Attributes(resource), scope, histograms, at };
    const known = this.#encoders.get(form);
    if (known !== undefined) {
      known.begin(frame);
      return known;
    }
    const made = createEncoder(form, frame);
    this.#encoders.set(form, made);
    return made;
  }

  #tellState(): void {
    this.#parts.tell({
      kind: 'state',
      gone: this.#gone.splice(0),
      endpoints: this.#changedEndpoints(),
      points: this.#points(),
      noted: this.#monitors.noted,
    });
  }

  #changedEndpoints(): EndpointState[] {
    const changed: EndpointState[] = [];
    for (const [key, { pipeline, url, monitors, told }] of this.#destinations) {
      if (told.changes === pipeline.changes && told.monitors === monitors.size) continue;
      Object.assign(told, { changes: pipeline.changes, monitors: monitors.size });
      const { workspaceId } = pipeline.target;
      changed.push({ ...pipeline.state, key, url, workspaceId, monitors: monitors.size });
    }
    return changed;
  }

  #points(): ExportedPoints {
    const open = [...this.#destinations.values()].map(({ pipeline }) => pipeline.state);
    return open.reduce<ExportedPoints>(addPoints, this.#ofClosed);
  }

  async #test(request: number, monitorId: number): Promise<void> {
    const { clock, tell } = this.#parts;
    const destination = this.#destinations.get(this.#targets.get(monitorId)?.key ?? '');
    if (destination === undefined) {
      tell({ kind: 'tested', request, answer: null });
      return;
    }
    const begunAt = clock.monotonic();
    let points = 0;
    const answers = await destination.pipeline.test((encoding) => {
      const encoder = this.#encoder(encoding, clock.wall());
      this.#monitors.get(monitorId)?.encode(encoder, clock.wall());
      points = encoder.points;
      return { body: encoder.finish(), points };
    });
    const answer: TestAnswer = {
      url: destination.url,
      points,
      durationMs: clock.monotonic() - begunAt,
      answers: answers.map(({ encoding, verdict }) => ({
        encoding,
        isTaken: verdict.is === 'taken',
        rejected: verdict.is === 'taken' ? verdict.rejected : 0,
        error: verdict.error,
      })),
    };
    tell({ kind: 'tested', request, answer });
  }

  async #saveWhereDue(): Promise<void> {
    const { clock, data } = this.#parts;
    const now = clock.monotonic();
    const isDue = now >= this.#saveNotBefore && (this.#monitors.hasNew || now >= this.#saveAt);
    if (this.#isSaving || !isDue) return;
    this.#isSaving = true;
    const isSaved = await this.#saveAll();
    this.#isSaving = false;
    this.#saveAt = now + (isSaved ? data.saveEveryMs : 0);
    this.#saveNotBefore = isSaved ? 0 : clock.monotonic() + SAVE_AGAIN_AFTER_MS;
  }

  async #saveAll(): Promise<boolean> {
    for (const part of this.#monitors.unsaved()) {
      if (!(await this.#saved(part))) return false;
      await new Promise<void>((resolve) => this.#parts.clock.after(SAVE_PAUSE_MS, resolve));
    }
    return true;
  }

  #saved(totals: SavedTotals): Promise<boolean> {
    return new Promise((resolve) => {
      this.#onSaved = resolve;
      this.#parts.tell({ kind: 'save', totals });
    });
  }
}

/** The same place for an endpoint after every start. */
function start(pipeline: Pipeline): void {
  const digest = createHash('sha256').update(pipeline.target.key).digest();
  pipeline.start(digest.readUInt32BE() / 2 ** 32);
}
