import { createHash } from 'node:crypto';
import { instantText } from '../../web/times.ts';
import { incidentTitle, updateSentence, updateWord } from '../html/incidents.ts';
import type { MaintenanceView } from '../notes.ts';
import type { PageView } from '../page-view.ts';
import { addressOf, type Place } from '../place.ts';
import { fill } from '../text/text.ts';
import type { Words } from '../words.ts';

/** An entry of a feed: one update of an incident, or one occurrence of maintenance. */
export type FeedEntry = {
  /** Unique over all pages and for ever, as RFC 4287, section 4.2.6 asks. */
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly link: string;
  /** When it came, and when it last changed, epoch ms. */
  readonly publishedAt: number;
  readonly updatedAt: number;
};

export type Feed = {
  readonly id: string;
  readonly title: string;
  readonly description: string | null;
  readonly language: string;
  /** Address of the page, and of the feed itself. */
  readonly page: string;
  readonly self: string;
  /** When anything in it last changed, epoch ms. */
  readonly updatedAt: number;
  /** Newest first. */
  readonly entries: readonly FeedEntry[];
};

/** Most entries about incidents, and about maintenance: what comes every night takes no place from an outage. */
const ENTRIES = { incidents: 50, maintenance: 25 };

/** @param file name of the feed below the page */
export function feedOf(view: PageView, place: Place, file: string): Feed {
  const { page, activeIncidents, pastIncidents, maintenance } = view;
  const { words } = place;
  const { title, description } = page.attributes;
  const address = addressOf(place);
  const updates = [...activeIncidents, ...pastIncidents].flatMap((incident) =>
    incident.updates.map(
      (update): FeedEntry => ({
        id: idOf(page.id, page.createdAt, update.id),
        title: `${incidentTitle(incident, words)}: ${updateWord(update, words)}`,
        text: updateSentence(update, incident, words),
        link: `${address}#i${incident.id}`,
        publishedAt: update.at,
        updatedAt: update.at,
      }),
    ),
  );
  const isOver = ({ state }: MaintenanceView) => state === 'completed';
  // What is not over has a place before what is, and the soonest of it before the others.
  const open = maintenance.filter((window) => !isOver(window));
  const planned = [...open, ...maintenance.filter(isOver).toReversed()].map(
    (window): FeedEntry => ({
      id: idOf(page.id, page.createdAt, `m${window.id}`),
      title: `${window.title}: ${words.text.maintenanceState[window.state]}`,
      text: maintenanceText(window, words),
      link: `${address}#m${window.id}`,
      publishedAt: window.stages.at(-1)?.at ?? window.updatedAt,
      updatedAt: window.updatedAt,
    }),
  );
  const entries = [
    ...updates.toSorted(newestFirst).slice(0, ENTRIES.incidents),
    ...planned.slice(0, ENTRIES.maintenance),
  ].sort(newestFirst);
  return {
    id: idOf(page.id, page.createdAt, 'feed'),
    title: fill(words.text.feedTitle, { title }),
    description,
    language: words.language,
    page: address,
    self: `${place.origin}${place.path}/${file}`,
    updatedAt: Math.max(page.createdAt, ...entries.map(({ updatedAt }) => updatedAt)),
    entries,
  };
}

function newestFirst(one: FeedEntry, other: FeedEntry): number {
  return other.updatedAt - one.updatedAt;
}

/** When the maintenance is, and what somebody wrote about it. */
function maintenanceText(
  { startsAt, endsAt, text }: MaintenanceView,
  { language, text: words }: Words,
): string {
  const [from, until] = [startsAt, endsAt].map((at) => instantText(at, language));
  const times = fill(words.maintenanceFrom, { from: from ?? '', until: until ?? '' });
  return text === '' ? times : `${times}\n\n${text}`;
}

/** A URN of a name-based UUID (RFC 9562, version 8): the page's address may change, and the id must not. */
function idOf(...parts: readonly (string | number)[]): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify(['svc feed', ...parts]))
    .digest()
    .subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return `urn:uuid:${groups.join('-')}`;
}
