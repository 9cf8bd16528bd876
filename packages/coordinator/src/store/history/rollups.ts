import type { Outcome } from '@svc/shared/messages/check-result.ts';
import { type RawBuilder, sql } from 'kysely';
import { addEncoded, emptyHistogram, encodeHistogram } from '../../verdict/latency-histogram.ts';
import { DAY_MS, HOUR_MS } from '../../verdict/summary-range.ts';
import { joinedHistograms, pairsAs } from '../dialect.ts';
import type { Counts, HourRow, TimeSpan } from '../results/result-series.ts';
import type { Store, Transaction } from '../store.ts';

/**
 * Maximum number of rows that one statement of {@link removeSomeRollups} deletes from hours or days, so that
 * recording does not wait for long.
 */
const CHUNK_ROWS = 1_000;

/**
 * Adds the counts of these rows to the stored roll-ups of the same hours. An hour may already have a row,
 * because an hour is rolled up in parts, and a monitor may have slots in several parts. A removed monitor
 * gets no new rows.
 */
export async function addToHours(tx: Transaction, rows: readonly HourRow[]): Promise<void> {
  if (rows.length === 0) return;
  const outcomes = await tx.runEach(
    `INSERT INTO rollup_hours (monitor_id, at, region, passed, degraded, failed, not_run, latency)
     SELECT id, ?::bigint, ?, ?::bigint, ?::bigint, ?::bigint, ?::bigint, ?::bytea FROM monitors WHERE id = ? ON CONFLICT DO NOTHING`,
    rows.map((row) => [row.at, row.region, ...countsOf(row), row.monitor_id]),
  );
  const rest = rows.filter((_, index) => outcomes[index]?.changes === 0);
  if (rest.length > 0) await mergeIntoHours(tx, rest);
}

async function mergeIntoHours(tx: Transaction, rows: readonly HourRow[]): Promise<void> {
  const hours = new Map(
    rows.map((row) => [`${row.monitor_id}:${row.at}`, [row.monitor_id, row.at] as const]),
  );
  const { rows: stored } = await sql<HourRow>`
    SELECT h.monitor_id, h.at, h.region, h.passed, h.degraded, h.failed, h.not_run, h.latency
    FROM ${pairsAs([...hours.values()], 'part')} CROSS JOIN rollup_hours h
    WHERE h.monitor_id = part.first AND h.at = part.second`.execute(tx.db);
  const sums = new Map(stored.map((row) => [keyOf(row), row]));
  const changed = new Set<string>();
  for (const row of rows) {
    const key = keyOf(row);
    const before = sums.get(key);
    if (before === undefined) continue;
    sums.set(key, sumOf(before, row));
    changed.add(key);
  }
  const updated = [...sums].flatMap(([key, row]) => (changed.has(key) ? [row] : []));
  await tx.runEach(
    `UPDATE rollup_hours SET passed = ?, degraded = ?, failed = ?, not_run = ?, latency = ?
     WHERE monitor_id = ? AND at = ? AND region = ?`,
    updated.map((row) => [...countsOf(row), row.monitor_id, row.at, row.region]),
  );
}

function keyOf({ monitor_id: monitorId, at, region }: HourRow): string {
  return `${monitorId}:${at}:${region}`;
}

function countsOf({ passed, degraded, failed, not_run: notRun, latency }: Counts) {
  return [passed, degraded, failed, notRun, latency] as const;
}

function sumOf(one: HourRow, other: HourRow): HourRow {
  const histogram = emptyHistogram();
  for (const { latency } of [one, other]) if (latency !== null) addEncoded(histogram, latency);
  return {
    ...one,
    passed: one.passed + other.passed,
    degraded: one.degraded + other.degraded,
    failed: one.failed + other.failed,
    not_run: one.not_run + other.not_run,
    latency: encodeHistogram(histogram),
  };
}

/** Replaces all rows of hours that these monitors have in these spans. */
export async function replaceHours(
  tx: Transaction,
  spans: readonly (TimeSpan & { monitorId: number })[],
  rows: readonly HourRow[],
): Promise<void> {
  await tx.runEach(
    'DELETE FROM rollup_hours WHERE monitor_id = ? AND at >= ? AND at < ?',
    spans.map(({ monitorId, from, until }) => [monitorId, from, until]),
  );
  await addToHours(tx, rows);
}

/**
 * Sums up the hours of these days (UTC, epoch ms), and replaces the earlier sums of the days. Removed
 * monitors get no rows.
 */
export async function writeDays(
  tx: Transaction,
  days: readonly { monitorId: number; day: number }[],
): Promise<void> {
  if (days.length === 0) return;
  // Each day is written once, although several of its hours may be repaired together.
  const once = [...new Map(days.map((each) => [`${each.monitorId}:${each.day}`, each])).values()];
  await tx.runEach(
    'DELETE FROM rollup_days WHERE monitor_id = ? AND at = ?',
    once.map(({ monitorId, day }) => [monitorId, day]),
  );
  await tx.runEach(
    `INSERT INTO rollup_days (monitor_id, at, region, passed, degraded, failed, not_run, latency)
     SELECT monitor_id, ?::bigint, region, sum(passed), sum(degraded), sum(failed), sum(not_run), merged_histogram(latency)
     FROM rollup_hours WHERE monitor_id = ? AND at >= ? AND at < ?
       AND EXISTS (SELECT 1 FROM monitors WHERE id = rollup_hours.monitor_id)
     GROUP BY monitor_id, region`,
    once.map(({ monitorId, day }) => [day, monitorId, day, day + DAY_MS]),
  );
}

/**
 * Deletes the monitors' roll-ups of hours and of days, and their uptimes of days, from before these instants,
 * epoch ms.
 */
export async function expireRollups(
  tx: Transaction,
  monitorIds: readonly number[],
  keep: { hoursFrom: number; daysFrom: number },
): Promise<void> {
  const { hoursFrom, daysFrom } = keep;
  const from = { rollup_hours: hoursFrom, rollup_days: daysFrom, uptime_days: daysFrom };
  for (const [table, instant] of Object.entries(from)) {
    await tx.runEach(
      `DELETE FROM ${table} WHERE monitor_id = ? AND at < ?`,
      monitorIds.map((id) => [id, instant]),
    );
  }
}

/** The id of a deleted monitor whose roll-ups must still be deleted; null: there is none. */
export async function removedMonitor({ read }: Store): Promise<number | null> {
  const row = await read.selectFrom('removed_monitors').select('monitor_id').executeTakeFirst();
  return row?.monitor_id ?? null;
}

/**
 * Deletes a chunk of a deleted monitor's roll-ups. The last call for a monitor also deletes its row in
 * `removed_monitors`.
 */
export async function removeSomeRollups(tx: Transaction, monitorId: number): Promise<void> {
  for (const table of ['rollup_hours', 'rollup_days']) {
    const [outcome] = await tx.runEach(
      `DELETE FROM ${table} WHERE (monitor_id, at, region) IN (
         SELECT monitor_id, at, region FROM ${table} WHERE monitor_id = ? LIMIT ${CHUNK_ROWS})`,
      [[monitorId]],
    );
    if (outcome !== undefined && outcome.changes >= CHUNK_ROWS) return;
  }
  // A monitor has at most one row a day in this table, so its rows are not deleted in chunks.
  await tx.runEach('DELETE FROM uptime_days WHERE monitor_id = ?', [[monitorId]]);
  await tx.runEach('DELETE FROM removed_monitors WHERE monitor_id = ?', [[monitorId]]);
}

/**
 * The next monitors after `afterMonitor`, by ascending id, at most `limit`, each with the number of its
 * roll-ups of hours in the span.
 */
export async function monitorsWithHours(
  { read }: Store,
  afterMonitor: number,
  { from, until }: TimeSpan,
  limit: number,
): Promise<{ id: number; hours: number }[]> {
  const rows = await read
    .selectFrom('monitors')
    .select((monitor) => [
      'id',
      monitor
        .selectFrom('rollup_hours')
        .whereRef('monitor_id', '=', 'monitors.id')
        .where('at', '>=', from)
        .where('at', '<', until)
        .select(({ fn }) => fn.countAll<number>().as('hours'))
        .as('hours'),
    ])
    .where('id', '>', afterMonitor)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id, hours }) => ({ id, hours: hours ?? 0 }));
}

export type RollupTable = 'rollup_hours' | 'rollup_days';

/**
 * The hours in the span whose roll-ups of the monitor count a result with this outcome, epoch ms.
 *
 * @param search.region only results of this region; null: results of any region
 */
export async function hoursWith(
  { read }: Pick<Store, 'read'>,
  search: { monitorId: number; region: string | null; outcome: Outcome },
  { from, until }: TimeSpan,
): Promise<ReadonlySet<number>> {
  const { monitorId, region, outcome } = search;
  const rows = await read
    .selectFrom('rollup_hours')
    .select('at')
    .distinct()
    .where('monitor_id', '=', monitorId)
    .where('at', '>=', from)
    .where('at', '<', until)
    .where(outcome, '>', 0)
    .$if(region !== null, (some) => some.where('region', '=', region ?? ''))
    .execute();
  return new Set(rows.map(({ at }) => at));
}

/**
 * A monitor's roll-ups in a span, summed up by bucket. `key`: the beginning of the bucket, epoch ms, a
 * multiple of `bucketMs`. Buckets without a row are missing.
 *
 * @param region only this region; null: the sums over all regions
 */
export function rollupsByBucket(
  store: Pick<Store, 'read'>,
  table: RollupTable,
  monitorId: number,
  span: TimeSpan,
  bucketMs: number,
  region: string | null = null,
): Promise<(Counts & { key: number })[]> {
  const key = sql<number>`at - at % ${bucketMs}`;
  return addedUp(store, { table, monitorId, span, region }, key);
}

/**
 * The latencies of these monitors in each hour of a span, over all regions, in one query. `at`: the beginning
 * of the hour, epoch ms. `latency`: histograms for `addEncoded`, one after the other; null: no latency
 * counts. Hours without a row are missing.
 */
export async function hourlyLatencies(
  { read }: Pick<Store, 'read'>,
  monitorIds: readonly number[],
  { from, until }: TimeSpan,
): Promise<{ id: number; at: number; latency: Uint8Array | null }[]> {
  if (monitorIds.length === 0) return [];
  const { rows } = await sql<{ id: number; at: number; joined: string | null }>`
    SELECT monitor_id AS id, at, ${joinedHistograms('latency')} AS joined
    FROM rollup_hours
    WHERE monitor_id IN (${sql.join(monitorIds)}) AND at >= ${from} AND at < ${until}
    GROUP BY monitor_id, at`.execute(read);
  return rows.map(({ joined, ...hour }) => ({
    ...hour,
    latency: joined === null || joined === '' ? null : Buffer.from(joined, 'hex'),
  }));
}

/** A monitor's roll-ups of a span, summed up by region. `key`: the region. */
export function rollupsByRegion(
  store: Pick<Store, 'read'>,
  table: RollupTable,
  monitorId: number,
  span: TimeSpan,
): Promise<(Counts & { key: string })[]> {
  return addedUp(store, { table, monitorId, span, region: null }, sql<string>`region`);
}

/**
 * A monitor's roll-ups of a span, summed up by region and bucket. `at`: the beginning of the bucket, epoch
 * ms.
 *
 * @param buckets.from beginning of the first bucket, epoch ms, not after `span.from`; not used for buckets as
 *   wide as the roll-ups themselves
 */
export async function rollupsByRegionAndBucket(
  store: Pick<Store, 'read'>,
  table: RollupTable,
  monitorId: number,
  span: TimeSpan,
  { from, bucketMs }: { from: number; bucketMs: number },
): Promise<(Counts & { region: string; at: number })[]> {
  if (bucketMs === (table === 'rollup_days' ? DAY_MS : HOUR_MS)) return rowsIn(store, table, monitorId, span);
  const key = sql<string>`(at - (at - ${from}) % ${bucketMs}) || ' ' || region`;
  const rows = await addedUp(store, { table, monitorId, span, region: null }, key);
  return rows.map(({ key: both, ...counts }) => {
    const [at = '', region = ''] = both.split(' ');
    return { ...counts, at: Number(at), region };
  });
}

/** A monitor's stored roll-ups of a span, without summing them up. */
function rowsIn(
  { read }: Pick<Store, 'read'>,
  table: RollupTable,
  monitorId: number,
  { from, until }: TimeSpan,
): Promise<(Counts & { region: string; at: number })[]> {
  return read
    .selectFrom(table)
    .select(['at', 'region', 'passed', 'degraded', 'failed', 'not_run', 'latency'])
    .where('monitor_id', '=', monitorId)
    .where('at', '>=', from)
    .where('at', '<', until)
    .execute();
}

/**
 * Sums roll-ups up in the query, outside the main thread: 400 days of all regions are too many rows for the
 * main thread.
 */
async function addedUp<K>(
  { read }: Pick<Store, 'read'>,
  search: { table: RollupTable; monitorId: number; span: TimeSpan; region: string | null },
  key: RawBuilder<K>,
): Promise<(Counts & { key: K })[]> {
  const { table, monitorId, span, region } = search;
  if (span.from >= span.until) return [];
  const { rows } = await sql<Counts & { key: K }>`
    SELECT ${key} AS key, sum(passed) AS passed, sum(degraded) AS degraded, sum(failed) AS failed,
      sum(not_run) AS not_run, merged_histogram(latency) AS latency
    FROM ${sql.table(table)}
    WHERE monitor_id = ${monitorId} AND at >= ${span.from} AND at < ${span.until}
      ${region === null ? sql`` : sql`AND region = ${region}`}
    GROUP BY 1`.execute(read);
  return rows;
}
