import { linesAsHtml } from '../../alerts/escaping.ts';
import { type Html, html, NO_HTML, raw } from '../../web/html.ts';
import { age, instant } from '../../web/times.ts';
import type { MaintenanceView } from '../notes.ts';
import { type IncidentUpdate, incidentDays, type PageIncident } from '../page-incidents.ts';
import type { PageView } from '../page-view.ts';
import type { Place } from '../place.ts';
import { INCIDENT_DAYS } from '../read-page.ts';
import { fillIn } from '../text/texts.ts';
import type { Words } from '../words.ts';
import { stateWord } from './status-page-frame.ts';

/**
 * Returns the title of an incident: the operator's title,
 * or one that is made from the components and the impact.
 */
export function incidentTitle({ title, components, impact }: PageIncident, words: Words): string {
  if (title !== null) return title;
  if (components.length === 0) return words.text.incident;
  const form = impact === 'degraded' ? words.text.incidentTitle.degraded : words.text.incidentTitle.down;
  return fillIn(form, { components: namesOf(components, words) });
}

/** Returns the text of an update: the operator's text, or a sentence about the measured state. */
export function updateSentence(update: IncidentUpdate, incident: PageIncident, words: Words): string {
  if (update.note !== null) return update.note.text;
  const { incidentSentence: sentences } = words.text;
  const components = namesOf(incident.components, words);
  const duration = words.duration(update.at - incident.startedAt);
  switch (update.state) {
    case 'operational':
      return fillIn(sentences.operational, { components, duration });
    case 'degraded':
      return fillIn(sentences.degraded, { components });
    case 'unknown':
      return fillIn(sentences.unknown, { components });
    case 'ended':
      return fillIn(sentences.ended, { components });
    default:
      return fillIn(sentences.down, { components });
  }
}

/** Returns the word above an update: the stage of the operator's work, or the measured state. */
export function updateWord({ state, note }: IncidentUpdate, { text }: Words): string {
  if (note !== null) return text.noteState[note.stage];
  return text.incidentUpdate[state === 'ended' ? 'unknown' : state];
}

/**
 * Renders the section of open incidents.
 *
 * @param now epoch ms
 */
export function currentIncidents(incidents: readonly PageIncident[], now: number, place: Place): Html {
  if (incidents.length === 0) return NO_HTML;
  return html`<section class="incidents" aria-labelledby="current"><h2 id="current">${place.words.text.activeIncidents}</h2>
${incidents.map((incident) => incidentArticle(incident, 'h3', place.words, now))}</section>
`;
}

/** Renders the section of ended incidents, grouped by the day on which they began. */
export function pastIncidents(incidents: readonly PageIncident[], { words }: Place): Html {
  const { text } = words;
  const days = incidentDays(incidents).map(
    ({ at, incidents: ofDay }) => html`<h3>${words.day(at)}</h3>
${ofDay.map((incident) => incidentArticle(incident, 'h4', words, 0))}`,
  );
  const others = days.length === 0 ? text.noIncidents : text.noOtherIncidents;
  return html`<section class="incidents" aria-labelledby="past"><h2 id="past">${text.pastIncidents}</h2>
${days}<p class="soft">${fillIn(others, { days: String(INCIDENT_DAYS) })}</p>
</section>
`;
}

/**
 * Renders an incident with its updates.
 *
 * @param level the HTML element of the heading
 * @param now epoch ms, for the age of an open incident
 */
function incidentArticle(incident: PageIncident, level: 'h3' | 'h4', words: Words, now: number): Html {
  const { id, startedAt, endedAt, components, title, updates } = incident;
  const { text, language } = words;
  const affected = title === null || components.length === 0 ? '' : namesOf(components, words);
  return html`<article class="incident" id="i${id}" data-began="${new Date(startedAt).toISOString()}"><${raw(level)}>${incidentTitle(incident, words)}</${raw(level)}>
<p class="soft small">${
    endedAt === null
      ? sinceText(startedAt, words)
      : fillIn(text.lasted, { duration: words.duration(endedAt - startedAt) })
  }${affected === '' ? NO_HTML : html` · ${fillIn(text.affected, { components: affected })}`}</p>
${
  // The age has a line of its own, so that no text moves when
  // the script converts times to the visitor's time zone.
  endedAt === null
    ? html`<p class="soft small">${age(startedAt, now, language)}</p>
`
    : NO_HTML
}<ol>${updates.map((update) => {
    const mark = update.state === 'ended' ? 'unknown' : update.state;
    return html`<li>${stateWord(mark, updateWord(update, words))} ${update.note === null ? NO_HTML : html`<span>${raw(linesAsHtml(update.note.text))}</span> `}${instant(update.at, language)}</li>`;
  })}</ol></article>
`;
}

function sinceText(at: number, words: Words): Html {
  const [before = '', after = ''] = words.text.since.split('{time}');
  return html`${before}${instant(at, words.language)}${after}`;
}

/** Renders the section of current and planned maintenance. */
export function maintenanceSection(
  windows: readonly MaintenanceView[],
  { sections }: PageView,
  place: Place,
): Html {
  const open = windows.filter(({ state }) => state !== 'completed');
  if (open.length === 0) return NO_HTML;
  const { words } = place;
  const { text, language } = words;
  const names = new Map(sections.flatMap(({ components }) => components.map(({ id, name }) => [id, name])));
  return html`<section class="incidents" aria-labelledby="maintenance"><h2 id="maintenance">${text.maintenance}</h2>
${open.map(({ id, title, text: about, state, componentIds, startsAt, endsAt }) => {
  const affected = componentIds.flatMap((componentId) => names.get(componentId) ?? []);
  const [before = '', between = '', after = ''] = text.maintenanceFrom.split(/\{from\}|\{until\}/);
  return html`<article class="incident" id="m${id}"><h3>${title}</h3>
<p>${stateWord('maintenance', text.maintenanceState[state])} <span class="soft small">${before}${instant(startsAt, language)}${between}${instant(endsAt, language)}${after}</span></p>
${about === '' ? NO_HTML : html`<p>${raw(linesAsHtml(about))}</p>`}${affected.length === 0 ? NO_HTML : html`<p class="soft small">${fillIn(text.affected, { components: words.list(affected) })}</p>`}</article>
`;
})}</section>
`;
}

function namesOf(components: readonly { readonly name: string }[], words: Words): string {
  return words.list(components.map(({ name }) => name));
}
