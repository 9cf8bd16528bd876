import { linesAsHtml } from '../../alerts/escaping.ts';
import { stateMark } from '../../web/design/states.ts';
import { type Html, html, NO_HTML, raw, safeHref } from '../../web/html.ts';
import { zoneName } from '../../web/times.ts';
import { BAR_STATES, barClass, barPaths, barsBox } from '../bars.ts';
import { stateOfOverall } from '../page-states.ts';
import type { ComponentView, DayView, PageView, SectionView } from '../page-view.ts';
import type { Place } from '../place.ts';
import { fillIn } from '../text/texts.ts';
import type { Words } from '../words.ts';
import { componentPath } from './days.ts';
import { currentIncidents, maintenanceSection, pastIncidents } from './incident-list.ts';
import { latencyLegend, latencyLine } from './latency-charts.ts';
import { framedPage, iconOf, sentenceWithTime, stateWord } from './status-page-frame.ts';

/** Renders the status page. */
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
<main id="content" data-today="${dateOf(now)}" data-since="${fillIn(text.since, { time: '…' })}">
<section class="banner state-${state}" aria-labelledby="overall">${stateMark(state)}<div><h2 id="overall">${text.overall[overall]}</h2><p class="small">${sentenceWithTime(text.updated, now, language)}</p></div></section>
${currentIncidents(activeIncidents, now, place)}${maintenanceSection(maintenance, view, place)}${componentSections(sections, place)}${hasBars ? barsLegend(place) : NO_HTML}${latencyLegend(view, place)}${pastIncidents(past, place)}<p class="soft small">${zoneSentence(text.zone)}</p></main>`,
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

/**
 * Maximum number of days with disruptions below the bars of one component, and below the bars of all
 * components of a page together. Each component lists one such day at least. A component's table of days
 * lists all its days.
 */
const LISTED_DAYS = { component: 15, page: 250 };

/** A {@link Place}, and the maximum number of days with disruptions below the bars of each component. */
type ListingPlace = Place & { readonly listedDays: number };

/** Renders the components of a page in sections with headings. */
function componentSections(sections: readonly SectionView[], at: Place): Html {
  const { text } = at.words;
  const count = sections.reduce((sum, { components }) => sum + components.length, 0);
  const place = { ...at, listedDays: Math.min(LISTED_DAYS.component, Math.ceil(LISTED_DAYS.page / count)) };
  if (sections.length === 0) return html`<p class="soft">${text.empty}</p>`;
  return html`${sections.map(({ group, components }, index) => {
    const name = group?.name ?? (sections.length === 1 ? text.components : text.otherComponents);
    const isNamed = group !== null || (sections.length > 1 && index > 0);
    return html`<section class="components" aria-labelledby="section-${index}">
<div class="section-head"><h2 id="section-${index}"${isNamed ? NO_HTML : html` class="unseen"`}>${name}</h2>${
      group === null || group.state === null || group.state === 'operational'
        ? NO_HTML
        : stateWord(group.state, text.state[group.state])
    }</div>
<ul>
${components.map((component) => componentItem(component, place))}</ul>
${scale(components, place)}</section>
`;
  })}`;
}

function componentItem(component: ComponentView, place: ListingPlace): Html {
  const { id, name, description, state, days } = component;
  const { text } = place.words;
  // Optional end tags and quotes are left out, because a page would have hundreds of them.
  return html`<li id=c${id}><h3>${name}</h3>${state === null ? NO_HTML : stateWord(state, text.state[state])}${
    description === null ? NO_HTML : html`<p class="soft small">${raw(linesAsHtml(description))}</p>`
  }${days.length === 0 ? NO_HTML : dayBars(component, place)}${latencyLine(component, place)}
`;
}

/**
 * Renders the bars of a component. A click, a touch or a key opens the list of days with
 * disruptions, without a script. The page's script also reads the days from this list.
 */
function dayBars(component: ComponentView, place: ListingPlace): Html {
  const { name, days, uptime } = component;
  const { words } = place;
  const { text } = words;
  const problems = days.filter(isProblem).length;
  const label = fillIn(problems === 0 ? text.quietBar : text.bar, {
    name,
    days: String(days.length),
    problems: String(problems),
  });
  return html`<details><summary><svg viewBox="${barsBox(days.length)}" preserveAspectRatio=none role=img aria-label="${label}">${raw(barPaths(days))}</svg></summary>${daysWithProblems(component, place)}</details><p>${words.uptime(uptime)}`;
}

function daysWithProblems({ id, days }: ComponentView, place: ListingPlace): Html {
  const { words, listedDays } = place;
  const { text } = words;
  const problems = days.filter(isProblem).reverse();
  const listed = problems.slice(0, listedDays);
  const first = days.find(({ uptime }) => uptime !== null);
  const isNew = first !== undefined && first !== days[0];
  return html`${listed.length === problems.length ? NO_HTML : html`<p>${fillIn(text.latestProblems, { count: String(listed.length) })}</p>`}${
    listed.length > 0
      ? html`<ul>${listed.map((day) => dayItem(day, words))}</ul>`
      : html`<p>${first === undefined ? text.noData : fillIn(text.noDisruption, { days: String(days.length) })}</p>`
  }${isNew ? html`<p class="soft">${fillIn(text.firstData, { day: words.day(first.at) })}</p>` : NO_HTML}<a href="${componentPath(id, place)}">${text.allDays}</a>`;
}

/**
 * Renders a day in the list. The figures name the disruption,
 * so the state is shown as a shape without a word.
 */
function dayItem(day: DayView, words: Words): Html {
  return html`<li class=${barClass(day.state)}>${words.recentDay(day.at)}: ${dayFigures(day, words)}`;
}

/** Renders the labels at both ends of the bars. */
function scale(components: readonly ComponentView[], { words }: Place): Html {
  const days = Math.max(...components.map((component) => component.days.length));
  if (days < 2) return NO_HTML;
  return html`<p class="scale"><span>${words.counted(words.text.daysAgo, days - 1)}</span><span>${words.text.today}</span></p>
`;
}

/** Renders the legend of the bars. The page's script reads the words for the states from the legend. */
function barsLegend({ words }: Place): Html {
  return html`<ul class="legend">${BAR_STATES.map(
    (state) => html`<li class=${barClass(state)}>${words.text.state[state]}</li>`,
  )}</ul>
`;
}

/**
 * Returns a UTC day as the HTML attribute `datetime` has it.
 *
 * @param at epoch ms
 */
function dateOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Whether the day had an outage or degradation, however short. */
function isProblem({ times }: DayView): boolean {
  return times.error > 0 || times.degraded > 0;
}

/** Returns the figures of a day: "99.65 % · down for 5 min". */
function dayFigures({ uptime, times }: DayView, words: Words): string {
  const { downFor, degradedFor } = words.text;
  const parts = uptime === null ? [] : [words.percent(uptime)];
  if (times.error > 0) parts.push(fillIn(downFor, { duration: words.duration(times.error) }));
  if (times.degraded > 0) parts.push(fillIn(degradedFor, { duration: words.duration(times.degraded) }));
  return parts.join(' · ');
}

/** Renders a text with the name of the zone in place of `{zone}`. */
function zoneSentence(sentence: string): Html {
  const [before = '', after = ''] = sentence.split('{zone}');
  return html`${before}${zoneName()}${after}`;
}
