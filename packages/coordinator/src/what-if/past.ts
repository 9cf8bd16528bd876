import type { LiveMonitor } from '../domain/monitor.ts';
import { freshForMs, votableForMs } from '../domain/status.ts';
import { journalledMonitor } from '../evaluation/journal.ts';
import {
  EVERY_MONITOR,
  type JournalEntry,
  type JournalledLink,
  type JournalledMonitor,
  type Surroundings,
} from '../evaluation/journal-entry.ts';
import type { Link } from '../evaluation/state.ts';
import { Windows } from '../evaluation/windows.ts';
import { firstEntry, journalOf, surroundingsAt } from '../store/evaluation-journal.ts';
import { journalledRows } from '../store/journalled-rows.ts';
import { windowsOfMonitor } from '../store/maintenance-windows.ts';
import type { Store } from '../store/store.ts';
import { announcedAt, incidentAt, linkedChannels, statusAt } from '../store/told-history.ts';
import type { Beginning } from './replay.ts';
import { alteredRow, type OtherSettings } from './settings.ts';
import { inOrder, instantOf, type Step } from './step.ts';

type Reading = Pick<Store, 'read'>;

/** Most time by which a slot's outcome may be evaluated before its slot, ms: see `BELIEVED_AHEAD_MS`. */
const AHEAD_MS = 60_000;

/** The part of a monitor's past that is replayed. */
export type Past = {
  readonly beginning: Beginning;
  /** What comes out before this instant only warms up, epoch ms. */
  readonly from: number;
  readonly entries: readonly JournalEntry[];
};

/**
 * Finds where a replay begins, and in which state. A monitor that was created since then is replayed from its birth.
 * Any other one warms up, until every region's vote comes from a replayed outcome: its status, its incident and
 * what its channels were told are read, its votes are not.
 *
 * @param span epoch ms; it begins later where the journal does
 * @returns null: there is no journal yet
 */
export async function readPast(
  store: Reading,
  { present, createdAt }: { readonly present: LiveMonitor; readonly createdAt: number },
  span: { readonly from: number; readonly until: number },
): Promise<Past | null> {
  const journal = await firstEntry(store, EVERY_MONITOR);
  if (journal === null) return null;
  const { periodMs, longestCheckMs } = present;
  const warmUpMs = freshForMs(periodMs, longestCheckMs) + votableForMs(periodMs, longestCheckMs);
  const wanted = Math.max(journal.at, span.from - warmUpMs);
  const at = Math.max(wanted, await orderedFrom(store, { from: wanted, until: span.until }));
  const [own, all] = [
    await journalOf(store, present.id, { from: at, until: span.until }),
    await journalOf(store, EVERY_MONITOR, { from: at, until: span.until }),
  ];
  const surroundings = await surroundingsOf(store, at, all);
  if (surroundings === null) return null;
  const isBorn = createdAt >= at;
  const declared = isBorn ? null : declaredAt(own, present);
  const links = isBorn ? [] : await linksAt(store, present.id, at, own);
  const past = isBorn ? null : await statusAt(store, present.id, at);
  const incident = isBorn ? null : await incidentAt(store, present.id, at);
  return {
    beginning: {
      at,
      monitor: declared,
      links,
      windows: await windowsBefore(store, present.id, own),
      status: past?.status ?? 'unknown',
      since: past?.since ?? at,
      incident: incident?.key ?? null,
      incidentSince: incident?.opened_at ?? null,
      surroundings,
    },
    from: Math.max(span.from, isBorn ? createdAt : at + warmUpMs),
    entries: [...own, ...all],
  };
}

/** Reads the steps of a replay, in their order, as the settings make them. Some thousand slots lie in memory. */
export async function* stepsOf(
  store: Reading,
  monitorId: number,
  { beginning, entries }: Past,
  until: number,
  settings: OtherSettings,
): AsyncGenerator<readonly Step[]> {
  const left = entries.map((entry): Step => ({ entry })).sort(inOrder);
  let waiting: Step[] = [];
  let next = 0;
  for await (const chunk of journalledRows(store, monitorId, { from: beginning.at, until })) {
    const end = chunk.until - AHEAD_MS;
    for (const row of chunk.rows) waiting.push({ row: alteredRow(row, settings) });
    for (; next < left.length && instantOf(left[next] as Step) < end; next += 1)
      waiting.push(left[next] as Step);
    waiting.sort(inOrder);
    const ready = waiting.findIndex((step) => instantOf(step) >= end);
    const told = ready === -1 ? waiting : waiting.slice(0, ready);
    waiting = ready === -1 ? [] : waiting.slice(ready);
    yield told.filter((step) => instantOf(step) >= beginning.at);
  }
  yield [...waiting, ...left.slice(next)]
    .sort(inOrder)
    .filter((step) => instantOf(step) >= beginning.at && instantOf(step) < until);
}

/** Since when instants have one order: after the clock was set back, only when it has caught up, epoch ms. */
async function orderedFrom(
  store: Reading,
  span: { readonly from: number; readonly until: number },
): Promise<number> {
  const entries = await journalOf(store, EVERY_MONITOR, span);
  const ahead = entries.map(({ event }) => (event.is === 'surroundings' ? event.aheadSlot : null));
  return Math.max(0, ...ahead.filter((slot) => slot !== null));
}

async function surroundingsOf(
  store: Reading,
  at: number,
  later: readonly JournalEntry[],
): Promise<Surroundings | null> {
  const entry = (await surroundingsAt(store, at)) ?? later[0];
  return entry?.event.is === 'surroundings' ? { ...entry.event, isStart: false, isResumed: true } : null;
}

/** The declaration before the first of these changes. */
function declaredAt(own: readonly JournalEntry[], present: LiveMonitor): JournalledMonitor | null {
  const [first] = declarations(own);
  return first === undefined ? journalledMonitor(present) : first.before;
}

function declarations(own: readonly JournalEntry[]) {
  return own.flatMap(({ event }) => (event.is === 'declared' ? [event] : []));
}

/** The maintenance windows before the first of these changes. */
async function windowsBefore(
  store: Reading,
  monitorId: number,
  own: readonly JournalEntry[],
): Promise<Windows> {
  const now = await windowsOfMonitor(store, monitorId);
  let windows = now.reduce((all, window) => all.with(window.id, window), Windows.NONE);
  for (const { event } of own.toReversed()) {
    if (event.is !== 'maintenance') continue;
    const { windowId: id, before: times } = event;
    windows = windows.with(id, times === null ? null : { id, monitorIds: [monitorId], times });
  }
  return windows;
}

async function linksAt(
  store: Reading,
  monitorId: number,
  at: number,
  own: readonly JournalEntry[],
): Promise<Link[]> {
  const [first] = declarations(own);
  const links: readonly JournalledLink[] = first?.linksBefore ?? (await linkedChannels(store, monitorId));
  return Promise.all(
    links.map(async (link) => {
      const { notificationId } = link;
      return { ...link, ...(await announcedAt(store, { monitorId, notificationId, at })) };
    }),
  );
}
