import { REGIONS } from '@svc/shared/regions.ts';
import { z } from 'zod';
import type { MonitorStatus } from '../domain/monitor.ts';
import { hasRegion, type RegionSet } from '../domain/region-set.ts';
import { addTimes, NO_TIMES, type StatusSince, timesBetween } from '../domain/uptime.ts';
import { type AttributeList, Attributes, NO_ATTRIBUTES } from './attributes.ts';
import { ATTRIBUTE } from './metrics.ts';
import type { ReadResult } from './note.ts';
import { RegionAttributes } from './region-attributes.ts';
import { type RegionTotals, storedRegion } from './region-totals.ts';
import type { RequestEncoder } from './request-encoder.ts';

/** The facts about a monitor from its declaration. */
export type ExportedMonitor = {
  readonly id: number;
  readonly name: string;
  readonly kind: string;
  /** The target without its secret parts. */
  readonly target: string;
  readonly isActive: boolean;
  /** Null: every region with an agent. */
  readonly regions: RegionSet | null;
  /** How long what a region has seen says something about now, ms. */
  readonly freshForMs: number;
};

/** The contents of `export_totals.totals`. */
const storedTotals = z.object({
  v: z.literal(1),
  /** The sources of the attributes and the buckets. */
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
 * The exported totals of a monitor. The counts begin at `startedAt` and continue over restarts while the
 * attributes stay the same. Another name or target makes other time series, which begin at 0.
 */
export class MonitorTotals {
  readonly startedAt: number;
  /** Notes up to this one are in it. */
  until: number;
  /** Whether totals have changed since they were stored. */
  isUnsaved = false;
  #monitor: ExportedMonitor;
  readonly #regions: RegionTotals;
  /** In `#regions`, of the monitor. */
  #rows: readonly number[] = [];
  /** Oldest first. */
  #changes: StatusSince[];

  constructor(
    monitor: ExportedMonitor,
    regions: RegionTotals,
    history: readonly StatusSince[],
    begin: { readonly startedAt: number; readonly until: number },
  ) {
    this.#monitor = monitor;
    this.startedAt = begin.startedAt;
    this.until = begin.until;
    this.#regions = regions;
    this.#changes = [...history];
  }

  /** The totals as they were stored; null: they are of other attributes or buckets, or cannot be read. */
  static restored(
    monitor: ExportedMonitor,
    regions: RegionTotals,
    history: readonly StatusSince[],
    row: { readonly until: number; readonly text: string },
  ): MonitorTotals | null {
    const { data: stored } = storedTotals.safeParse(parsed(row.text));
    if (stored?.identity !== identityOf(monitor, regions)) return null;
    const { startedAt } = stored;
    const totals = new MonitorTotals(monitor, regions, history, { startedAt, until: row.until });
    totals.#rows = stored.regions.map((region) => regions.restore(region)).filter((row) => row !== null);
    return totals;
  }

  /**
   * The monitor as it is declared now.
   *
   * @returns false: it has other time series, and nothing has changed here
   */
  declared(monitor: ExportedMonitor): boolean {
    const { name, kind, target } = this.#monitor;
    if (monitor.name !== name || monitor.kind !== kind || monitor.target !== target) return false;
    this.#monitor = monitor;
    return true;
  }

  get history(): readonly StatusSince[] {
    return this.#changes;
  }

  /** @param at when the result came, epoch ms */
  add(result: ReadResult, at: number): void {
    const row = this.#rowOf(result.region);
    if (row !== null) this.#regions.count(row, result, at);
  }

  /** Frees the memory of the counts. Nothing else may be called after it. */
  release(): void {
    for (const row of this.#rows) this.#regions.remove(row);
    this.#rows = [];
  }

  /** The history before the changes that were reported. */
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
    const regions = this.#rows.map((row) => this.#regions.stored(row));
    const { startedAt } = this;
    const identity = identityOf(this.#monitor, this.#regions);
    return JSON.stringify({ v: 1, identity, startedAt, regions } satisfies StoredTotals);
  }

  /** @param now epoch ms */
  encode(encoder: RequestEncoder, now: number): void {
    encoder.beginMonitor(attributesOf(this.#monitor), this.startedAt);
    for (const row of this.#rows) {
      encodeCounts(encoder, this.#regions, row);
      this.#encodeCertificate(encoder, row, now);
    }
    const status = this.#changes.at(-1)?.status ?? 'unknown';
    for (const { of, own } of STATES) encoder.gauge('status', own, Number(of === status));
    const uptime = this.#uptime(now);
    if (uptime !== null) encoder.gauge('uptime', NO_ATTRIBUTES, uptime);
  }

  /**
   * The counts of a region stay when it does not check the target any more. Its last gauge does not, because it
   * would count as the present value.
   */
  #encodeCertificate(encoder: RequestEncoder, row: number, now: number): void {
    const expiresAt = this.#regions.certificateExpiresAt(row);
    if (expiresAt === null || !this.#isSeen(row, now)) return;
    const region = this.#regions.regions[row] as number;
    encoder.gauge('certificate', RegionAttributes.of(region).region, (expiresAt - now) / 1_000);
  }

  /** Whether the region of the row checks the target. */
  #isSeen(row: number, now: number): boolean {
    const { isActive, regions, freshForMs } = this.#monitor;
    const region = REGIONS[this.#regions.regions[row] as number];
    const isDeclared = regions === null || (region !== undefined && hasRegion(regions, region));
    return isActive && isDeclared && now - this.#regions.seenAt(row) <= freshForMs;
  }

  /** 0 to 1; null: nothing is known. */
  #uptime(now: number): number | null {
    const from = now - UPTIME_MS;
    while ((this.#changes[1]?.at ?? Number.POSITIVE_INFINITY) <= from) this.#changes.shift();
    const { active, degraded, error } = timesBetween(this.#changes, [from, now]).reduce(addTimes, NO_TIMES);
    const known = active + degraded + error;
    return known === 0 ? null : (active + degraded) / known;
  }

  /** Null: a newer version knows the region. */
  #rowOf(region: number): number | null {
    for (const row of this.#rows) if (this.#regions.regions[row] === region) return row;
    if (REGIONS[region] === undefined) return null;
    const made = this.#regions.add(region);
    // An array that grows would have room for some more, in each of many monitors.
    this.#rows = [...this.#rows, made];
    return made;
  }
}

/** Made for each export: kept, with what encoders make of it, it would be half of what a monitor takes. */
function attributesOf({ id, name, kind, target }: ExportedMonitor): AttributeList {
  return [
    [ATTRIBUTE.monitorId, String(id)],
    [ATTRIBUTE.monitorName, name],
    [ATTRIBUTE.monitorKind, kind],
    [ATTRIBUTE.target, target],
  ];
}

function encodeCounts(encoder: RequestEncoder, totals: RegionTotals, row: number): void {
  const { histograms } = totals;
  const own = RegionAttributes.of(totals.regions[row] as number);
  for (let place = 0; place < own.outcomes.length; place += 1)
    encoder.sum('checks', own.outcomes[place] as Attributes, totals.checks(row, place));
  for (let at = totals.firstDuration(row); at !== null; at = totals.nextDuration(at))
    encoder.histogram('duration', own.duration(totals.durationKey(at)), histograms, at);
  for (let place = 0; place < own.phases.length; place += 1) {
    const histogram = totals.phase(row, place);
    if (histogram !== null)
      encoder.histogram('phase', own.phases[place] as Attributes, histograms, histogram);
  }
}

/** Undefined: the text is not JSON. Nothing else in the export depends on that row. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function identityOf({ name, kind, target }: ExportedMonitor, { histograms }: RegionTotals): string {
  return JSON.stringify([name, kind, target, histograms.kind]);
}
