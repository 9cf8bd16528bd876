import { derivedUuid } from '@svc/shared/ids.ts';
import { allWindows, type StoredWindow } from '../../store/incidents/maintenance-windows.ts';
import {
  pagesOfWindow,
  publishedOf,
  storeToldWindow,
  toldWindows,
  windowsToldSince,
} from '../../store/pages/page-announcements.ts';
import type { Readable } from '../../store/queries.ts';
import type { Transaction } from '../../store/store.ts';
import {
  nextOccurrence,
  type Occurrence,
  occurrencesIn,
  type WindowTimes,
} from '../../verdict/maintenance-window.ts';
import { LATE_MS, storeAnnouncement } from './announcements.ts';

type UnannouncedWindow = {
  readonly window: StoredWindow;
  readonly pageId: number;
  /** Names of the affected components that the page shows. */
  readonly components: readonly string[];
  readonly news: WindowNews;
};

/**
 * Finds the news of maintenance windows for each page that shows the window, at
 * most one for each window and page. If a page stopped showing a window after
 * the window's beginning was announced, the news is the end of the window.
 *
 * @param now epoch ms
 */
export async function unannouncedWindows(source: Readable, now: number): Promise<UnannouncedWindow[]> {
  const since = await windowsToldSince(source);
  if (since === null) return [];
  const told = Map.groupBy(await toldWindows(source), ({ windowId }) => windowId);
  const found: UnannouncedWindow[] = [];
  for (const window of await allWindows(source)) {
    const known = new Map((told.get(window.id) ?? []).map((one) => [one.pageId, one]));
    const newsOf = (times: StoredWindow, before: AnnouncedWindow | null) =>
      windowNews({ times, createdAt: window.createdAt, before, since, now });
    const begun = [...known].filter(([, one]) => isInProgress(one)).map(([pageId]) => pageId);
    if (
      begun.length === 0 &&
      newsOf(window, null) === null &&
      ![...known.values()].some((one) => newsOf(window, one) !== null)
    )
      continue;
    const shown = await pagesOfWindow(source, window);
    for (const [pageId, components] of shown) {
      const news = newsOf(window, known.get(pageId) ?? null);
      if (news !== null) found.push({ window, pageId, components, news });
    }
    const left = begun.filter((pageId) => !shown.has(pageId));
    for (const pageId of left.length === 0 ? [] : await publishedOf(source, left)) {
      const news = newsOf(endedBy(window, now), known.get(pageId) ?? null);
      if (news !== null) found.push({ window, pageId, components: [], news });
    }
  }
  return found;
}

/**
 * Stores announcements of all news of maintenance windows.
 *
 * @param wall epoch ms
 */
export async function announceWindows(tx: Transaction, wall: number): Promise<void> {
  const now = Math.floor(wall);
  for (const untold of await unannouncedWindows(tx, now)) {
    await storeToldWindow(tx, {
      pageId: untold.pageId,
      windowId: untold.window.id,
      ...untold.news.announced,
    });
    await announceWindow(tx, untold, now);
  }
}

/**
 * Announces the end of a window that is about to be removed, on the published pages where its beginning was
 * announced. If the beginning was not announced, the window disappears without an announcement, even if its
 * occurrence has begun.
 *
 * @param now epoch ms
 */
export async function announceRemoval(tx: Transaction, window: StoredWindow, now: number): Promise<void> {
  const told = (await toldWindows(tx)).filter((one) => one.windowId === window.id && isInProgress(one));
  if (told.length === 0) return;
  const published = new Set(
    await publishedOf(
      tx,
      told.map(({ pageId }) => pageId),
    ),
  );
  const shown = await pagesOfWindow(tx, window);
  for (const before of told.filter(({ pageId }) => published.has(pageId))) {
    const { pageId } = before;
    const times = endedBy(window, now);
    const news = windowNews({ times, createdAt: window.createdAt, before, since: now, now });
    if (news !== null)
      await announceWindow(tx, { window, pageId, components: shown.get(pageId) ?? [], news }, now);
  }
}

/** Whether the beginning was announced, but the end was not. */
function isInProgress({ begunFrom, isOver }: AnnouncedWindow): boolean {
  return begunFrom !== null && !isOver;
}

function endedBy(window: StoredWindow, now: number): StoredWindow {
  return { ...window, endedAt: Math.min(window.endedAt ?? now, now) };
}

async function announceWindow(
  tx: Transaction,
  { window, pageId, components, news: { stage, from, until } }: UnannouncedWindow,
  now: number,
): Promise<void> {
  if (stage === 'completed' && until < now - LATE_MS) return;
  const { title, text } = window;
  const uid = derivedUuid(['window', window.id, window.createdAt, stage, from, pageId]);
  const facts = { stage, from, until, components: [...components] };
  await storeAnnouncement(
    tx,
    { uid, pageId, announcement: { kind: 'maintenance', at: now, title, text, ...facts } },
    now,
  );
}

/** What was announced about a window on one page so far. Instants are epoch ms. */
export type AnnouncedWindow = {
  /**
   * Beginning of the occurrence that was announced in advance, or else of the first one that was announced
   * when it began; null: neither was announced.
   */
  readonly announcedFrom: number | null;
  /** Beginning of the occurrence that was announced when it began; null: no beginning was announced. */
  readonly begunFrom: number | null;
  /** Whether the end of the occurrence that began at `begunFrom` was announced too. */
  readonly isOver: boolean;
};

/** News of a window, and the {@link AnnouncedWindow} to store together with the announcement. */
export type WindowNews = Occurrence & {
  readonly stage: 'scheduled' | 'in_progress' | 'completed';
  readonly announced: AnnouncedWindow;
};

type WindowFacts = {
  readonly times: WindowTimes;
  /** When the window was created, epoch ms. */
  readonly createdAt: number;
  /** What was announced so far; null: nothing was announced. */
  readonly before: AnnouncedWindow | null;
  /**
   * Beginnings before this instant are not announced, and windows created before it are not announced in
   * advance, epoch ms.
   */
  readonly since: number;
  readonly now: number;
};

/**
 * Returns the next news of a maintenance window; null: everything is announced. If several
 * are due, the end of an announced occurrence comes first, then the beginning of the current
 * occurrence, then the next occurrence in advance. A repeating window is announced in
 * advance only once. A window without repetition is announced again after it was postponed.
 */
export function windowNews(facts: WindowFacts): WindowNews | null {
  const next = nextOccurrence(facts.times, facts.now);
  const current = next !== null && next.from <= facts.now ? next : null;
  return (
    endNews(facts, current) ??
    (current === null ? (next === null ? null : announcement(facts, next)) : beginNews(facts, current))
  );
}

function endNews({ times, before, now }: WindowFacts, current: Occurrence | null): WindowNews | null {
  const from = before?.begunFrom ?? null;
  if (before === null || from === null || before.isOver || current?.from === from) return null;
  const [begun] = occurrencesIn(times, from, from + 1);
  const until = begun?.from === from ? Math.min(begun.until, now) : now;
  return { stage: 'completed', from, until, announced: { ...before, isOver: true } };
}

function beginNews({ before, since }: WindowFacts, current: Occurrence): WindowNews | null {
  const { from } = current;
  if (from < since || before?.begunFrom === from) return null;
  const announcedFrom = before?.announcedFrom ?? from;
  return { stage: 'in_progress', ...current, announced: { announcedFrom, begunFrom: from, isOver: false } };
}

function announcement({ times, createdAt, before, since }: WindowFacts, next: Occurrence): WindowNews | null {
  const isAnnounced = before?.announcedFrom === next.from || (before !== null && times.repeat !== null);
  if (isAnnounced || (before === null && createdAt < since)) return null;
  const known = before ?? { begunFrom: null, isOver: false };
  return { stage: 'scheduled', ...next, announced: { ...known, announcedFrom: next.from } };
}
