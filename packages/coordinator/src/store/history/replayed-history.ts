import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import type { Attempt, Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { sql } from 'kysely';
import type { MonitorStatus } from '../../verdict/monitor.ts';
import { bitOf, NO_REGIONS, type RegionSet, union } from '../../verdict/region-set.ts';
import type { Link } from '../../verdict/state.ts';
import type { Announced } from '../../verdict/transition.ts';
import type { ChangeOfStatus } from '../../verdict/writes.ts';
import { numbersAs } from '../dialect.ts';
import { slotsOfMonitor } from '../results/recorded-slots.ts';
import { type RegionNumbers, storedRegionNumbers } from '../results/region-numbers.ts';
import { isOneAttempt, readReports } from '../results/report-bytes.ts';
import type { TimeSpan } from '../results/result-series.ts';
import type { Store } from '../store.ts';

/*
 * What a what-if replay reads about one monitor: its recorded statuses, incidents, alerts and results, and
 * the channels that are linked to it now.
 */

type Reading = Pick<Store, 'read'>;

/** Maximum number of rows per query. */
const PAGE = 1_000;

export type PastStatus = { readonly status: MonitorStatus; readonly since: number };

/** The status at an instant (epoch ms); null: no change of status is recorded up to that instant. */
export async function statusAt({ read }: Reading, monitorId: number, at: number): Promise<PastStatus | null> {
  const row = await read
    .selectFrom('transitions')
    .select(['to_status', 'at'])
    .$narrowType<{ to_status: MonitorStatus }>()
    .where('monitor_id', '=', monitorId)
    .whereRef('from_status', '<>', 'to_status')
    .where('at', '<=', at)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? null : { status: row.to_status, since: row.at };
}

/** The monitor's incident that was open at an instant (epoch ms); null: none was open. */
export async function incidentAt(
  { read }: Reading,
  monitorId: number,
  at: number,
): Promise<{ key: string; opened_at: number } | null> {
  const row = await read
    .selectFrom('incidents')
    .select(['key', 'opened_at'])
    .where('monitor_id', '=', monitorId)
    .where('opened_at', '<=', at)
    .where(({ or, eb }) => or([eb('closed_at', 'is', null), eb('closed_at', '>', at)]))
    .where('key', 'is not', null)
    .$narrowType<{ key: string }>()
    .orderBy('opened_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/** The channels that are linked to the monitor now. */
export function linkedChannels(
  { read }: Reading,
  monitorId: number,
): Promise<Pick<Link, 'notificationId' | 'providerType' | 'version'>[]> {
  return read
    .selectFrom('links')
    .innerJoin('notifications', 'notifications.id', 'links.notification_id')
    .select(['notifications.id as notificationId', 'notifications.provider_type as providerType'])
    .select('links.version as version')
    .where('links.monitor_id', '=', monitorId)
    .orderBy('notifications.id')
    .execute();
}

/**
 * SQL condition: the delivery is about a change of the monitor's status. It is no notice, whose `incident` is
 * not the key of an incident, and no reminder. A replay makes neither. The texts of an alert cannot contain
 * the pattern, because JSON escapes their quotes.
 */
const IS_ABOUT_CHANGE = sql<boolean>`EXISTS (SELECT 1 FROM incidents i WHERE i.key = deliveries.incident)
  AND deliveries.alert NOT LIKE '%"reminder":{%'`;

/**
 * The status that was last announced to a channel about the monitor up to an instant (epoch ms), and its
 * incident. If the last alert is a recovery, or if there is no alert, the status is `active`, and the incident
 * is null.
 */
export async function announcedAt(
  { read }: Reading,
  { monitorId, notificationId, at }: { monitorId: number; notificationId: number; at: number },
): Promise<{ announced: Announced; incident: string | null }> {
  const row = await read
    .selectFrom('deliveries')
    .select(['status', 'incident'])
    .where('monitor_id', '=', monitorId)
    .where('notification_id', '=', notificationId)
    .where('created_at', '<=', at)
    .where(IS_ABOUT_CHANGE)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  const status = row?.status;
  if (status !== 'error' && status !== 'degraded') return { announced: 'active', incident: null };
  return { announced: status, incident: row?.incident ?? null };
}

export type PastChange = Pick<ChangeOfStatus, 'from' | 'to' | 'reason' | 'at'>;

/**
 * The changes of a monitor's status whose instants are in a span, in the order in which they were recorded.
 */
export function changesIn(
  { read }: Reading,
  monitorId: number,
  { from, until }: TimeSpan,
): Promise<PastChange[]> {
  return inPages((after) =>
    read
      .selectFrom('transitions')
      .select(['id', 'from_status as from', 'to_status as to', 'reason', 'at'])
      .$narrowType<PastChange>()
      .where('monitor_id', '=', monitorId)
      .where('id', '>', after)
      .whereRef('from_status', '<>', 'to_status')
      .where('at', '>=', from)
      .where('at', '<', until)
      .orderBy('id')
      .limit(PAGE)
      .execute(),
  );
}

export type PastAlert = {
  readonly notificationId: number;
  readonly status: AlertStatus;
  /** When the alert was queued, epoch ms. */
  readonly at: number;
};

/** The alerts about changes of a monitor's status that were queued in a span, in their order. */
export function alertsIn(
  { read }: Reading,
  monitorId: number,
  { from, until }: TimeSpan,
): Promise<PastAlert[]> {
  return inPages((after) =>
    read
      .selectFrom('deliveries')
      .select(['id', 'notification_id as notificationId', 'status', 'created_at as at'])
      .$narrowType<PastAlert>()
      .where('monitor_id', '=', monitorId)
      .where('id', '>', after)
      .where(IS_ABOUT_CHANGE)
      .where('created_at', '>=', from)
      .where('created_at', '<', until)
      .orderBy('id')
      .limit(PAGE)
      .execute(),
  );
}

async function inPages<R>(page: (after: number) => Promise<(R & { id: number })[]>): Promise<R[]> {
  const found: R[] = [];
  for (let after = 0; ; ) {
    const rows = await page(after);
    for (const { id, ...row } of rows) {
      found.push(row as unknown as R);
      after = id;
    }
    if (rows.length < PAGE) return found;
  }
}

/** Number of slots per query. Looking up a slot takes a few µs. */
const SLOTS = 2_000;

/** A result as the evaluation needs it, with the instant at which it was recorded. */
export type RecordedRow = {
  /** Epoch ms. */
  readonly recordedAt: number;
  readonly slot: number;
  readonly region: Region;
  readonly outcome: Outcome;
  readonly version: number;
  /** Latency, ms. */
  readonly latency: number | null;
  readonly statusCode: number | null;
  readonly errorMessage: string | null;
  /** The attempts of the check, if there were two or more; otherwise empty. */
  readonly attempts: readonly Attempt[];
  /** The regions that have a result for this slot. */
  readonly given: RegionSet;
};

/**
 * Yields the results of a monitor in the order in which they were recorded, in chunks of about {@link SLOTS}
 * slots.
 *
 * @param span the slots to read, epoch ms: `from` <= slot < `until`
 */
export async function* resultsAsRecorded(
  { read }: Pick<Store, 'read'>,
  monitorId: number,
  { from, until }: TimeSpan,
): AsyncGenerator<readonly RecordedRow[]> {
  const slots = [...(await slotsOfMonitor(read, monitorId, { from, until: until - 1 }))].reverse();
  let waiting: RecordedRow[] = [];
  for (let first = 0; first < slots.length; first += SLOTS) {
    const asked = slots.slice(first, first + SLOTS);
    const { rows } = await sql<SlotRow>`
      SELECT slot, reports FROM ${numbersAs(asked, 'candidate')} CROSS JOIN slot_results
      WHERE slot = candidate.value AND monitor_id = ${monitorId}`.execute(read);
    waiting = [...waiting, ...recordedRows(rows, await storedRegionNumbers({ read }))].sort(inOrder);
    // A result of a later slot may have been recorded before some of these results. So results that were
    // recorded after the next chunk's first slot wait until that chunk is read.
    const next = slots[first + SLOTS] ?? Number.POSITIVE_INFINITY;
    const later = waiting.findIndex(({ recordedAt }) => recordedAt >= next);
    yield waiting.splice(0, later === -1 ? waiting.length : later);
  }
}

function inOrder(a: RecordedRow, b: RecordedRow): number {
  return a.recordedAt - b.recordedAt || a.slot - b.slot || (a.region < b.region ? -1 : 1);
}

type SlotRow = { readonly slot: number; readonly reports: Uint8Array };

/** The reports of these rows, in any order. A slot may have several rows. */
function recordedRows(rows: readonly SlotRow[], numbers: RegionNumbers): RecordedRow[] {
  const read = rows.flatMap(({ slot, reports }) =>
    readReports(slot, reports, numbers).map((report) => ({ slot, report })),
  );
  const given = new Map<number, RegionSet>();
  for (const { slot, report } of read)
    given.set(slot, union(given.get(slot) ?? NO_REGIONS, bitOf(report.region)));
  return read.map(({ slot, report }) => ({
    recordedAt: report.recorded_at,
    slot,
    region: report.region,
    outcome: report.outcome,
    version: report.version,
    latency: report.latency ?? null,
    statusCode: report.status_code ?? null,
    errorMessage: report.error_message ?? null,
    attempts: isOneAttempt(report) ? [] : report.attempts,
    given: given.get(slot) ?? NO_REGIONS,
  }));
}
