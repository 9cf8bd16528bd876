import { type Html, html } from '../../web/html.ts';
import type { ComponentView, DayView, PageView } from '../page-view.ts';
import { addressOf, type Place } from '../place.ts';
import { fillIn } from '../text/texts.ts';
import type { Words } from '../words.ts';
import { latencyTable } from './latency-charts.ts';
import { framedPage, sentenceWithTime, stateWord } from './status-page-frame.ts';

/** Returns the path of the page that shows a component's days in a table. */
export function componentPath(componentId: string, { path }: Place): string {
  return `${path}/days/${componentId}`;
}

/**
 * Renders the page with a component's days in a table; null: the status
 * page does not show the component, or the component has no days.
 */
export function daysPage(view: PageView, componentId: string, place: Place): string | null {
  const component = view.sections
    .flatMap(({ components }) => components)
    .find(({ id }) => id === componentId);
  if (component === undefined || component.days.length === 0) return null;
  const { words } = place;
  const { title } = view.page.attributes;
  const heading = fillIn(words.text.dayTitle, { name: component.name });
  return framedPage(view, place, {
    title: `${heading} · ${title}`,
    path: componentPath(componentId, place).slice(place.path.length),
    body: html`<header class="page-head"><h1>${heading}</h1>
<p><a href="${new URL(addressOf(place)).pathname}">${fillIn(words.text.back, { title })}</a></p></header>
<main id="content">${dayTable(component, words)}
${latencyTable(view, component, words)}
<p class="soft small">${sentenceWithTime(words.text.updated, view.now, words.language)}</p></main>`,
  });
}

function dayTable({ name, days, uptime }: ComponentView, words: Words): Html {
  const { text } = words;
  const caption = fillIn(text.dayCaption, { name, days: String(days.length) });
  return html`<p class="total">${words.uptime(uptime)}</p>
<div class="table-frame" role="region" tabindex="0" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr><th scope="col">${text.day}</th><th scope="col">${text.dayState}</th><th scope="col" class="number">${text.dayUptime}</th><th scope="col" class="number">${text.downTime}</th><th scope="col" class="number">${text.degradedTime}</th><th scope="col" class="number">${text.maintenanceTime}</th><th scope="col" class="number">${text.unknownTime}</th></tr></thead>
<tbody>
${days.toReversed().map((day) => dayRow(day, words))}</tbody>
</table></div>`;
}

function dayRow({ at, state, uptime, times }: DayView, words: Words): Html {
  const { text } = words;
  const lasted = (ms: number) => html`<td class="number">${ms < 1_000 ? text.none : words.duration(ms)}</td>`;
  const date = new Date(at).toISOString().slice(0, 10);
  return html`<tr><th scope="row"><time datetime="${date}" data-show="utc-day">${words.day(at)}</time></th><td>${stateWord(state, text.state[state])}</td><td class="number">${uptime === null ? text.none : words.percent(uptime)}</td>${lasted(times.error)}${lasted(times.degraded)}${lasted(times.maintenance)}${lasted(times.unknown)}</tr>
`;
}
