import type { StatusSince } from '../domain/uptime.ts';
import type { StoredExportTotals } from '../store/export-totals.ts';
import type { HistogramKind } from './histograms.ts';
import type { ExportedMonitor } from './monitor-totals.ts';
import type { ExportTarget, PipelineState } from './pipeline.ts';
import type { Encoding } from './request-encoder.ts';

/*
 * The messages between the main thread and the thread of the export. All values are plain, because no `Secret` survives
 * the cloning.
 */

/** The data with which the thread is started. */
export type ExportThreadData = {
  readonly intervalMs: number;
  readonly saveEveryMs: number;
  readonly histograms: HistogramKind;
  /** Of one request, ms. */
  readonly timeoutMs: number;
  /** Attributes of the resource. */
  readonly resource: readonly (readonly [name: string, value: string])[];
  readonly version: string;
  /** Private CIDRs that endpoints of monitors may be in. */
  readonly egressAllow: readonly string[];
  /** PEM. */
  readonly ca: readonly string[];
  /** For the operator's endpoint, PEM. */
  readonly operator: {
    readonly ca: readonly string[];
    readonly identity: { readonly cert: string; readonly key: string } | null;
  };
  readonly proxy: {
    readonly host: string;
    readonly port: number;
    readonly authorization: string | null;
  } | null;
};

/** A monitor that is exported, with where to and what is known of it. */
export type ExportEntry = {
  readonly monitor: ExportedMonitor;
  readonly target: ExportTarget;
  /** Statuses of the last 24 h, oldest first. */
  readonly history: readonly StatusSince[];
  /** As stored; null: nothing is. */
  readonly totals: { readonly until: number; readonly text: string } | null;
};

export type ToExportThread =
  /** While it loads: what is exported. */
  | {
      readonly kind: 'entries';
      readonly entries: readonly ExportEntry[];
      /** The last note that is recorded. */
      readonly lastNote: number;
    }
  /** Results, in the order of their ids; those that a monitor's totals have are passed over. */
  | { readonly kind: 'notes'; readonly batch: Uint8Array }
  /** Everything is loaded. */
  | { readonly kind: 'begin' }
  /** The declaration of a monitor has changed; null: it is not exported any more. */
  | { readonly kind: 'monitor'; readonly id: number; readonly entry: ExportEntry | null }
  /** Of a monitor that was told of without one. */
  | { readonly kind: 'history'; readonly id: number; readonly history: readonly StatusSince[] }
  | { readonly kind: 'status'; readonly id: number; readonly change: StatusSince }
  /** Answers `save`. */
  | { readonly kind: 'saved'; readonly isSaved: boolean }
  | { readonly kind: 'test'; readonly request: number; readonly monitorId: number }
  /** No monitor is exported any more. */
  | { readonly kind: 'end' };

/** Totals that are to be stored. */
export type SavedTotals = {
  readonly rows: readonly StoredExportTotals[];
  /** Monitors whose totals go. */
  readonly forgotten: readonly number[];
  /** All totals have the notes up to this one, which are not needed any more; null: not yet. */
  readonly notesUntil: number | null;
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
export type ExportedPoints = {
  readonly taken: number;
  readonly rejected: number;
  readonly dropped: number;
};

export type TestAnswer = {
  readonly url: string;
  readonly points: number;
  readonly durationMs: number;
  /** One, or one for each encoding. */
  readonly answers: readonly {
    readonly encoding: Encoding;
    readonly isTaken: boolean;
    readonly rejected: number;
    readonly error: string | null;
  }[];
};

export type FromExportThread =
  | {
      readonly kind: 'state';
      /** Keys of endpoints that are gone since the last time; one of them may be there again. */
      readonly gone: readonly string[];
      /** Those that have changed since then: copies for another thread cost more than to compare numbers. */
      readonly endpoints: readonly EndpointState[];
      /** Of all endpoints since the thread was started, also of those that are gone. */
      readonly points: ExportedPoints;
      /** The last note that is in the totals. */
      readonly noted: number;
    }
  | { readonly kind: 'save'; readonly totals: SavedTotals }
  /** Answers `end`, after the last state: the thread does nothing any more. */
  | { readonly kind: 'ended' }
  /** Null: the monitor is not exported. */
  | { readonly kind: 'tested'; readonly request: number; readonly answer: TestAnswer | null };
