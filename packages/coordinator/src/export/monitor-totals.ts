import { z } from 'zod';
import type { MonitorStatus } from '../domain/monitor.ts';
import { addTimes, NO_TIMES, type StatusSince, timesBetween } from '../domain/uptime.ts';
import { Attributes, NO_ATTRIBUTES } from './attributes.ts';
import type { HistogramKind } from './histogram.ts';
import { ATTRIBUTE } from './metrics.ts';
import type { ReadResult } from './note.ts';
import { RegionTotals, type StoredRegion, storedRegion } from './region-totals.ts';
import type { RequestEncoder } from './request-encoder.ts';

/** What is known of a monitor by its declaration. */
export type ExportedMonitor = {
  readonly id: number;
  readonly name: string;
  readonly kind: string;
  /** Without what of it is secret. */
  readonly target: string;
};

/** What `export_totals.totals` holds. */
const storedTotals = z.object({
  v: z.literal(1),
  /** What the attributes and the buckets were made from. */
  identity: z.string(),
  /** Epoch ms. */
  startedAt: z.number(),
  regions: z.array(storedRegion),
});
type StoredTotals = z.infer<typeof storedTotals>;

const STATUSES = ['active', 'degraded', 'error', 'unknown'] as const satisfies MonitorStatus[];
const STATES = STATUSES.map((of) => ({ of, own: new Attributes([[ATTRIBUTE.state, of]]) }));
const UPTIME_MS = 24 * 3_600_000;
/** Changes of status that are remembered: more than a monitor that flaps every 30 s has in 24 h. */
const MOST_CHANGES = 3_000;

/**
 * What is exported of a monitor. The counts begin at `startedAt` and go on over restarts, as long as the
 * attributes stay the same: another name or target makes other time series, which begin at nothing.
 */
export class MonitorTotals {
  readonly monitor: ExportedMonitor;
  readonly startedAt: number;
  /** Notes up to this one are in it. */
  until: number;
  readonly #identity: string;
  readonly #kind: HistogramKind;
  readonly #attributes: Attributes;
  /** By place in the list of regions; a hole: nothing is counted. */
  readonly #regions: (RegionTotals | undefined)[] = [];
  /** Oldest first. */
  #changes: StatusSince[];

  constructor(
    monitor: ExportedMonitor,
    kind: HistogramKind,
    history: readonly StatusSince[],
    begin: { readonly startedAt: number; readonly until: number },
  ) {
    this.monitor = monitor;
    this.startedAt = begin.startedAt;
    this.until = begin.until;
    this.#kind = kind;
    this.#identity = identityOf(monitor, kind);
    this.#attributes = new Attributes([
      [ATTRIBUTE.monitorId, String(monitor.id)],
      [ATTRIBUTE.monitorName, monitor.name],
      [ATTRIBUTE.monitorKind, monitor.kind],
      [ATTRIBUTE.target, monitor.target],
    ]);
    this.#changes = [...history];
  }

  /** The totals as they were stored; null: they are of other attributes or buckets, or cannot be read. */
  static restored(
    monitor: ExportedMonitor,
    kind: HistogramKind,
    history: readonly StatusSince[],
    row: { readonly until: number; readonly text: string },
  ): MonitorTotals | null {
    const { data: stored } = storedTotals.safeParse(JSON.parse(row.text));
    if (stored?.identity !== identityOf(monitor, kind)) return null;
    const { startedAt, regions } = stored;
    const totals = new MonitorTotals(monitor, kind, history, { startedAt, until: row.until });
    for (const region of regions) totals.#restore(region);
    return totals;
  }

  /** Whether the monitor, as it is declared now, has the same time series. */
  isOf(monitor: ExportedMonitor): boolean {
    return identityOf(monitor, this.#kind) === this.#identity;
  }

  get history(): readonly StatusSince[] {
    return this.#changes;
  }

  add(result: ReadResult): void {
    const region = this.#regions[result.region] ?? this.#newRegion(result.region);
    region?.add(result);
  }

  /** What was before the changes that it was told of. */
  knows(history: readonly StatusSince[]): void {
    const last = history.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
    this.#changes = [...history, ...this.#changes.filter(({ at }) => at > last)];
  }

  changed(change: StatusSince): void {
    // A change may be dated back before the last ones: what it overtakes never was.
    while ((this.#changes.at(-1)?.at ?? Number.NEGATIVE_INFINITY) > change.at) this.#changes.pop();
    this.#changes.push(change);
    if (this.#changes.length > MOST_CHANGES) this.#changes.shift();
  }

  stored(): string {
    const regions = this.#regions.flatMap((region) => (region === undefined ? [] : [region.stored()]));
    const { startedAt } = this;
    return JSON.stringify({ v: 1, identity: this.#identity, startedAt, regions } satisfies StoredTotals);
  }

  /** @param now epoch ms */
  encode(encoder: RequestEncoder, now: number): void {
    const all = this.#attributes;
    encoder.startAt(this.startedAt);
    for (const region of this.#regions) if (region !== undefined) encodeRegion(encoder, all, region, now);
    const status = this.#changes.at(-1)?.status ?? 'unknown';
    for (const { of, own } of STATES) encoder.gauge('status', { all, own }, Number(of === status));
    const uptime = this.#uptime(now);
    if (uptime !== null) encoder.gauge('uptime', { all, own: NO_ATTRIBUTES }, uptime);
  }

  /** 0 to 1; null: nothing is known. */
  #uptime(now: number): number | null {
    const from = now - UPTIME_MS;
    while ((this.#changes[1]?.at ?? Number.POSITIVE_INFINITY) <= from) this.#changes.shift();
    const { active, degraded, error } = timesBetween(this.#changes, [from, now]).reduce(addTimes, NO_TIMES);
    const known = active + degraded + error;
    return known === 0 ? null : (active + degraded) / known;
  }

  #newRegion(place: number): RegionTotals | null {
    const name = RegionTotals.nameOf(place);
    if (name === null) return null;
    const made = new RegionTotals(name, this.#kind, null);
    this.#regions[place] = made;
    return made;
  }

  #restore(stored: StoredRegion): void {
    const place = RegionTotals.placeOf(stored.region);
    // A newer version may have stored a region that this one does not know.
    if (place < 0) return;
    this.#regions[place] = new RegionTotals(stored.region, this.#kind, stored);
  }
}

function encodeRegion(encoder: RequestEncoder, all: Attributes, totals: RegionTotals, now: number): void {
  const { attributes, counts, durations, phases, certificateExpiresAt } = totals;
  attributes.outcomes.forEach((own, place) => {
    encoder.sum('checks', { all, own }, counts[place] ?? 0);
  });
  for (const { key, histogram } of durations)
    encoder.histogram('duration', { all, own: attributes.duration(key) }, histogram.data);
  attributes.phases.forEach((own, place) => {
    const histogram = phases[place] ?? null;
    if (histogram !== null) encoder.histogram('phase', { all, own }, histogram.data);
  });
  if (certificateExpiresAt !== null) {
    const remaining = (certificateExpiresAt - now) / 1_000;
    encoder.gauge('certificate', { all, own: attributes.region }, remaining);
  }
}

function identityOf({ name, kind, target }: ExportedMonitor, histograms: HistogramKind): string {
  return JSON.stringify([name, kind, target, histograms]);
}
