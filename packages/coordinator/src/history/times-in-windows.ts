import { windowTimesOf } from '../store/incidents/maintenance-windows.ts';
import { type MonitorSpan, statusesIn } from '../store/states/status-history.ts';
import type { Store } from '../store/store.ts';
import { merged, type Occurrence, occurrencesIn, type WindowTimes } from '../verdict/maintenance-window.ts';
import { addTimes, NO_TIMES, type StatusTimes, timesBetween } from '../verdict/uptime.ts';

/** A piece of maintenance, with the place of the bucket that it lies in. */
type Piece = MonitorSpan & { readonly bucket: number };

/**
 * How long each monitor had each status in its maintenance windows, between each two neighbouring edges. It is read
 * from the changes of status, so a window that is declared, changed or removed later counts at once. Monitors without
 * windows are missing.
 *
 * @param edges epoch ms, ascending
 */
export async function timesInWindows(
  store: Pick<Store, 'read'>,
  monitorIds: readonly number[],
  edges: readonly number[],
): Promise<ReadonlyMap<number, readonly StatusTimes[]>> {
  const windows = await windowTimesOf(store, monitorIds);
  if (windows.size === 0) return new Map();
  const occurrences = occurrencesOfEach(windows, edges);
  const pieces = [...windows].flatMap(([monitorId, times]) =>
    piecesOf(monitorId, merged(times.flatMap((window) => occurrences.get(window) ?? [])), edges),
  );
  const statuses = await statusesIn(store, pieces);
  const found = new Map<number, StatusTimes[]>(
    [...windows.keys()].map((id) => [id, edges.slice(1).map(() => NO_TIMES)]),
  );
  for (const [index, { monitorId, bucket, from, until }] of pieces.entries()) {
    const [times = NO_TIMES] = timesBetween(statuses[index] ?? [], [from, until]);
    const buckets = found.get(monitorId);
    if (buckets !== undefined) buckets[bucket] = addTimes(buckets[bucket] ?? NO_TIMES, times);
  }
  return found;
}

/** The occurrences of each window, calculated once for all of its monitors: each costs some 30 µs. */
function occurrencesOfEach(
  windows: ReadonlyMap<number, readonly WindowTimes[]>,
  edges: readonly number[],
): ReadonlyMap<WindowTimes, readonly Occurrence[]> {
  const [first = 0, last = 0] = [edges[0], edges.at(-1)];
  const all = new Set([...windows.values()].flat());
  return new Map([...all].map((window) => [window, occurrencesIn(window, first, last)]));
}

/**
 * The maintenance of a monitor, in pieces that each lie in one bucket.
 *
 * @param spans ascending; they do not overlap
 */
function piecesOf(monitorId: number, spans: readonly Occurrence[], edges: readonly number[]): Piece[] {
  const last = edges.at(-1) ?? 0;
  const pieces: Piece[] = [];
  let bucket = 0;
  for (const span of spans) {
    while ((edges[bucket + 1] ?? last) <= span.from && bucket + 2 < edges.length) bucket += 1;
    for (let at = bucket; at + 1 < edges.length; at += 1) {
      const from = Math.max(span.from, edges[at] ?? 0);
      const until = Math.min(span.until, edges[at + 1] ?? 0);
      if (until <= from) break;
      pieces.push({ monitorId, bucket: at, from, until });
    }
  }
  return pieces;
}
