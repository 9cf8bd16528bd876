import { linesAsHtml } from '../../alerts/escaping.ts';
import { stateMark } from '../../web/design/states.ts';
import { type Html, html, NO_HTML, raw, safeHref } from '../../web/html.ts';
import type { PageView } from '../page-view.ts';
import type { Place } from '../place.ts';
import { stateOfOverall } from '../states.ts';
import { fill } from '../text/text.ts';
import { barsLegend, componentSections, dateOf } from './components.ts';
import { framedPage, iconOf, sentenceWithTime } from './frame.ts';
import { currentIncidents, maintenanceSection, pastIncidents } from './incidents.ts';
import { latencyLegend } from './latencies.ts';

/** The status page. */
export function statusPage(view: PageView, place: Place): string {
  const { page, overall, sections, activeIncidents, pastIncidents: past, maintenance, now } = view;
  const { words } = place;
  const { text, language } = words;
  const state = stateOfOverall(overall);
  const hasBars = sections.some(({ components }) => components.some(({ days }) => days.length > 0));
  return framedPage(view, place, {
    title: `${page.attributes.title}: ${text.overall[overall]}`,
    path: '',
    body: html`${pageHead(view, place)}
<main id="content" data-today="${dateOf(now)}" data-since="${fill(text.since, { time: '…' })}">
<section class="banner state-${state}" aria-labelledby="overall">${stateMark(state)}<div><h2 id="overall">${text.overall[overall]}</h2><p class="small">${sentenceWithTime(text.updated, now, language)}</p></div></section>
${currentIncidents(activeIncidents, now, place)}${maintenanceSection(maintenance, view, place)}${componentSections(sections, place)}${hasBars ? barsLegend(place) : NO_HTML}${latencyLegend(view, place)}${pastIncidents(past, place)}<p class="soft small">${text.zone}</p></main>`,
  });
}

function pageHead(view: PageView, place: Place): Html {
  const { words } = place;
  const { title, description, homepage_url: homepage, contact_url: contact } = view.page.attributes;
  const { text } = words;
  const { icon } = iconOf(view, place);
  const links = [
    [homepage, text.homepage],
    [contact, text.contact],
  ].flatMap(([url, name]) => {
    const href = url === null || url === undefined ? null : safeHref(url);
    return href === null ? [] : [html`<li><a href="${href}" rel="noopener noreferrer">${name}</a></li>`];
  });
  return html`<header class="page-head"><div class="brand">${icon === undefined ? NO_HTML : html`<img src="${icon}" alt="" width="40" height="40">`}<h1>${title}</h1></div>
${links.length === 0 ? NO_HTML : html`<nav aria-label="${text.links}"><ul class="plain-list foot-links">${links}</ul></nav>`}
${description === null ? NO_HTML : html`<p class="soft">${raw(linesAsHtml(description))}</p>`}</header>`;
}
