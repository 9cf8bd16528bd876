import { linesAsHtml } from '../../alerts/escaping.ts';
import { type Html, html, NO_HTML, raw } from '../../web/html.ts';
import { BAR_STATES, barClass, barPaths, barsBox } from '../bars.ts';
import type { ComponentView, DayView, SectionView } from '../page-view.ts';
import type { Place } from '../place.ts';
import { fill } from '../text/text.ts';
import type { Words } from '../words.ts';
import { componentPath } from './days.ts';
import { dayFigures, isProblem } from './figures.ts';
import { latencyLine } from './latencies.ts';
import { stateWord } from './state.ts';

/** Most days with disruptions that a component lists beside its bars, and all of a page. Tables have all days. */
const LISTED_DAYS = { component: 15, page: 250 };

/** With the most days with disruptions that a component lists. */
type ListingPlace = Place & { readonly listedDays: number };

/** The components of a page, each section with a heading. */
export function componentSections(sections: readonly SectionView[], at: Place): Html {
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
  // Ends of elements that HTML adds by itself, and quotes, are left out: there are hundreds of them.
  return html`<li id=c${id}><h3>${name}</h3>${state === null ? NO_HTML : stateWord(state, text.state[state])}${
    description === null ? NO_HTML : html`<p class="soft small">${raw(linesAsHtml(description))}</p>`
  }${days.length === 0 ? NO_HTML : dayBars(component, place)}${latencyLine(component, place)}
`;
}

/**
 * The bars of a component, which open the list of its days with disruptions: by pointer, touch and keyboard, without
 * a script. A script reads the days from this list too.
 */
function dayBars(component: ComponentView, place: ListingPlace): Html {
  const { name, days, uptime } = component;
  const { words } = place;
  const { text } = words;
  const problems = days.filter(isProblem).length;
  const label = fill(problems === 0 ? text.quietBar : text.bar, {
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
  return html`${listed.length === problems.length ? NO_HTML : html`<p>${fill(text.latestProblems, { count: String(listed.length) })}</p>`}${
    listed.length > 0
      ? html`<ul>${listed.map((day) => dayItem(day, words))}</ul>`
      : html`<p>${first === undefined ? text.noData : fill(text.noDisruption, { days: String(days.length) })}</p>`
  }${isNew ? html`<p class="soft">${fill(text.firstData, { day: words.day(first.at) })}</p>` : NO_HTML}<a href="${componentPath(id, place)}">${text.allDays}</a>`;
}

/** The figures name what was wrong, so the item has the shape and no further word. */
function dayItem(day: DayView, words: Words): Html {
  return html`<li class=${barClass(day.state)}>${words.recentDay(day.at)}: ${dayFigures(day, words)}`;
}

/** The ends of the bars above it. */
function scale(components: readonly ComponentView[], { words }: Place): Html {
  const days = Math.max(...components.map((component) => component.days.length));
  if (days < 2) return NO_HTML;
  return html`<p class="scale"><span>${words.counted(words.text.daysAgo, days - 1)}</span><span>${words.text.today}</span></p>
`;
}

/** What the bars mean. The script finds the words of the states here. */
export function barsLegend({ words }: Place): Html {
  return html`<ul class="legend">${BAR_STATES.map(
    (state) => html`<li class=${barClass(state)}>${words.text.state[state]}</li>`,
  )}</ul>
`;
}

/** As `datetime` takes a day. @param at epoch ms */
export function dateOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
