import { derivedUuid } from '../../alerts/derived-uuid.ts';
import { publishedOf } from '../../store/incidents/incident-news.ts';
import { allWindows, type StoredWindow } from '../../store/incidents/maintenance-windows.ts';
import {
  noteWindowTold,
  pagesOfWindow,
  toldWindows,
  windowsToldSince,
} from '../../store/incidents/window-news.ts';
import type { Readable } from '../../store/reading-of.ts';
import type { Transaction } from '../../store/store.ts';
import { announce, LATE_MS } from './announce.ts';
import { type WindowNews, type WindowTold, windowNews } from './window-news.ts';

type UntoldWindow = {
  readonly window: StoredWindow;
  readonly pageId: number;
  /** Names of the affected components that the page shows. */
  readonly components: readonly string[];
  readonly news: WindowNews;
};

/**
 * What is to be told of maintenance windows, at most one thing for each window and page: what comes, begins and ends, on
 * each page that shows the window. Where a page shows it no longer, it has ended there.
 *
 * @param now epoch ms
 */
export async function untoldWindows(source: Readable, now: number): Promise<UntoldWindow[]> {
  const since = await windowsToldSince(source);
  if (since === null) return [];
  const told = Map.groupBy(await toldWindows(source), ({ windowId }) => windowId);
  const found: UntoldWindow[] = [];
  for (const window of await allWindows(source)) {
    const known = new Map((told.get(window.id) ?? []).map((one) => [one.pageId, one]));
    const newsOf = (times: StoredWindow, before: WindowTold | null) =>
      windowNews({ times, createdAt: window.createdAt, told: before, since, now });
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

/** Announces what is to be told of maintenance windows. @param wall epoch ms */
export async function announceWindows(tx: Transaction, wall: number): Promise<void> {
  const now = Math.floor(wall);
  for (const untold of await untoldWindows(tx, now)) {
    await noteWindowTold(tx, { pageId: untold.pageId, windowId: untold.window.id, ...untold.news.told });
    await announceWindow(tx, untold, now);
  }
}

/**
 * Announces the end of a window that is about to be removed, where subscribers were told that it has begun. One that was
 * only planned leaves the pages without a word, as one that is ended before its time does.
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
    const news = windowNews({ times, createdAt: window.createdAt, told: before, since: now, now });
    if (news !== null)
      await announceWindow(tx, { window, pageId, components: shown.get(pageId) ?? [], news }, now);
  }
}

/** Whether subscribers were told of a beginning, and not of its end. */
function isInProgress({ begunFrom, isOver }: WindowTold): boolean {
  return begunFrom !== null && !isOver;
}

function endedBy(window: StoredWindow, now: number): StoredWindow {
  return { ...window, endedAt: Math.min(window.endedAt ?? now, now) };
}

async function announceWindow(
  tx: Transaction,
  { window, pageId, components, news: { stage, from, until } }: UntoldWindow,
  now: number,
): Promise<void> {
  if (stage === 'completed' && until < now - LATE_MS) return;
  const { title, text } = window;
  const uid = derivedUuid(`window ${window.id} ${stage} ${from} on page ${pageId}`);
  const told = { stage, from, until, components: [...components] };
  await announce(
    tx,
    { uid, pageId, announcement: { kind: 'maintenance', at: now, title, text, ...told } },
    now,
  );
}
