import { createHash } from 'node:crypto';
import { incidentTitle, updateSentence, updateWord } from '../html/incidents.ts';
import type { MaintenanceView } from '../notes.ts';
import type { PageView } from '../page-view.ts';
import { addressOf, type Place } from '../place.ts';
import { fill } from '../text/text.ts';

/** An entry of a feed: one update of an incident. */
export type FeedEntry = {
  /** Unique over all pages and for ever, as RFC 4287, section 4.2.6 asks. */
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly link: string;
  /** Epoch ms. */
  readonly at: number;
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

/** Most entries of a feed. */
const ENTRIES = 50;

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
        at: update.at,
      }),
    ),
  );
  const planned = maintenance.map(
    (window): FeedEntry => ({
      id: idOf(page.id, page.createdAt, `m${window.id}-${window.state}`),
      title: `${window.title}: ${words.text.maintenanceState[window.state]}`,
      text: window.text === '' ? window.title : window.text,
      link: `${address}#m${window.id}`,
      at: entryTime(window),
    }),
  );
  const entries = [...updates, ...planned].sort((one, other) => other.at - one.at).slice(0, ENTRIES);
  return {
    id: idOf(page.id, page.createdAt, 'feed'),
    title: fill(words.text.feedTitle, { title }),
    description,
    language: words.language,
    page: address,
    self: `${place.origin}${place.path}/${file}`,
    updatedAt: Math.max(page.createdAt, ...entries.map(({ at }) => at)),
    entries,
  };
}

/** When a window got its state: when it was planned, began or ended. */
function entryTime({ state, updatedAt, startsAt, endsAt }: MaintenanceView): number {
  switch (state) {
    case 'scheduled':
      return updatedAt;
    case 'in_progress':
      return startsAt;
    case 'completed':
      return endsAt;
  }
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
