import { REGIONS } from '@svc/shared/regions.ts';
import { z } from 'zod';
import {
  EVERY_MONITOR,
  type JournalEntry,
  type JournalEvent,
  type Surroundings,
} from '../evaluation/journal-entry.ts';
import { windowTimes } from './maintenance-windows.ts';
import type { SqlStep, Store } from './store.ts';

/* Rows of the journal of the evaluation; `evaluation/journal.ts` says what they mean. */

const region = z.enum(REGIONS);
const slot = z.int();
const given = z.int().nullable();
const monitor = z.object({
  active: z.boolean(),
  periodMs: z.int().positive(),
  regions: z.array(region).nullable(),
  version: z.int(),
  degradedAtMs: z.number(),
  longestCheckMs: z.number(),
  activatedAt: z.number(),
});
const link = z.object({ notificationId: z.int(), providerType: z.string() });
const change = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('monitor'), monitor }),
  link.extend({ kind: z.enum(['linked', 'channel']) }),
  z.object({ kind: z.enum(['unlinked', 'channel-removed']), notificationId: z.int() }),
]);

const event = z.discriminatedUnion('is', [
  z.object({ is: z.literal('opened'), slot, given }),
  z.object({ is: z.literal('answered'), slot, given, region }),
  z.object({ is: z.literal('excused'), slot, given, region }),
  z.object({ is: z.literal('resumed'), slot, waitedFor: z.int() }),
  z.object({ is: z.literal('resumed-all') }),
  z.object({ is: z.literal('due') }),
  z.object({ is: z.literal('held') }),
  z.object({
    is: z.literal('maintenance'),
    windowId: z.int(),
    times: windowTimes.nullable(),
    before: windowTimes.nullable(),
  }),
  z.object({ is: z.literal('announced') }),
  z.object({
    is: z.literal('declared'),
    change,
    before: monitor.nullable(),
    linksBefore: z.array(link),
  }),
  z.object({
    is: z.literal('surroundings'),
    electable: z.int(),
    ageAheadMs: z.number(),
    monotonicAheadMs: z.number(),
    jumpedAt: z.number().nullable(),
    aheadSlot: z.int().nullable(),
    isStart: z.boolean(),
    isResumed: z.boolean(),
  }),
]) satisfies z.ZodType<JournalEvent | Surroundings>;

/** Entries per query. */
const PAGE = 2_000;

/** An entry that was written in the same ms before a restart stays. */
export function writeJournal(entries: readonly JournalEntry[]): SqlStep {
  return {
    sql: `INSERT INTO evaluation_journal (monitor_id, at, place, event) VALUES (?, ?, ?, ?)
      ON CONFLICT DO NOTHING`,
    rows: entries.map(({ monitorId, at, place, event }) => [monitorId, at, place, JSON.stringify(event)]),
  };
}

/**
 * The entries about the monitor in a span, by instant and place. It reads them in pages.
 *
 * @throws ZodError or SyntaxError for text that svc did not write
 */
export async function journalOf(
  { read }: Pick<Store, 'read'>,
  monitorId: number,
  { from, until }: { readonly from: number; readonly until: number },
): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for (;;) {
    const { at, place } = entries.at(-1) ?? { at: from, place: -1 };
    const rows = await read
      .selectFrom('evaluation_journal')
      .selectAll()
      .where('monitor_id', '=', monitorId)
      .where((where) =>
        where.or([where('at', '>', at), where.and([where('at', '=', at), where('place', '>', place)])]),
      )
      .where('at', '<', until)
      .orderBy('at')
      .orderBy('place')
      .limit(PAGE)
      .execute();
    for (const row of rows) entries.push({ ...located(row), event: event.parse(JSON.parse(row.event)) });
    if (rows.length < PAGE) return entries;
  }
}

/** The oldest entry about the monitor; null: there is none. */
export async function firstEntry(
  { read }: Pick<Store, 'read'>,
  monitorId: number,
): Promise<{ readonly at: number } | null> {
  const row = await read
    .selectFrom('evaluation_journal')
    .select('at')
    .where('monitor_id', '=', monitorId)
    .orderBy('at')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/** The last entry about all monitors up to an instant; null: there is none. */
export async function surroundingsAt(
  { read }: Pick<Store, 'read'>,
  at: number,
): Promise<JournalEntry | null> {
  const row = await read
    .selectFrom('evaluation_journal')
    .selectAll()
    .where('monitor_id', '=', EVERY_MONITOR)
    .where('at', '<=', at)
    .orderBy('at', 'desc')
    .orderBy('place', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? null : { ...located(row), event: event.parse(JSON.parse(row.event)) };
}

function located({ monitor_id: monitorId, at, place }: { monitor_id: number; at: number; place: number }) {
  return { monitorId, at, place };
}
