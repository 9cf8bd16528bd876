/*
 * The script of a status page. It shows the figures of single days in the line below the bars, for the
 * pointer and for arrow keys. It loads newer content once a minute. The page works without it.
 */
const REFRESH_MS = 60_000;
const DAY_MS = 86_400_000;
const language = document.documentElement.lang === 'en' ? 'en-GB' : document.documentElement.lang;
const dayFormat = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const localDay = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', year: 'numeric' });
const localTime = new Intl.DateTimeFormat(language, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

/** A UTC day in the visitor's zone; null: it is a day there too. @param {number} at epoch ms */
function spanOf(at) {
  const isDay = [at, at + DAY_MS].every((edge) => /^00:00/.test(new Date(edge).toTimeString()));
  return isDay ? null : localTime.formatRange(at, at + DAY_MS);
}

/** Beginning of the last UTC day in the bars, epoch ms. */
function lastDay() {
  return Date.parse(document.querySelector('main')?.dataset.today ?? '');
}

/** Converts days from UTC to the visitor's time zone. Call it exactly once after each load of content. */
function showDays() {
  const past = document.getElementById('past')?.parentElement;
  for (const heading of past?.querySelectorAll(':scope > h3') ?? []) heading.remove();
  let last = '';
  for (const incident of past?.querySelectorAll('article') ?? []) {
    const day = localDay.format(Date.parse(incident.dataset.began ?? ''));
    if (day !== last) {
      const heading = document.createElement('h3');
      heading.textContent = day;
      incident.before(heading);
    }
    last = day;
  }
  for (const component of document.querySelectorAll('.components > ul > li')) {
    const states = statesOf(component);
    const days = states.flatMap((state, index) => (isProblem(state) ? [index] : [])).reverse();
    for (const [place, item] of component.querySelectorAll('details li').entries()) {
      const span = spanOf(lastDay() - (states.length - 1 - (days[place] ?? 0)) * DAY_MS);
      const text = item.textContent ?? '';
      if (span !== null) item.textContent = `${span}${text.slice(text.indexOf(': '))}`;
    }
  }
  const since = document.querySelector('main')?.dataset.since ?? '';
  for (const today of document.querySelectorAll('.scale span:last-child')) {
    if (spanOf(lastDay()) !== null) today.textContent = since.replace('…', localTime.format(lastDay()));
  }
}

/** @param {Element} component @param {number} index of the day, from the oldest */
function figuresOf(component, index) {
  const states = statesOf(component);
  const later = states.slice(index + 1).filter(isProblem).length;
  const listed = isProblem(states[index]) ? component.querySelectorAll('details li')[later] : undefined;
  if (listed) return listed.textContent ?? '';
  const at = lastDay() - (states.length - 1 - index) * DAY_MS;
  const word = document.querySelector(`.legend .${states[index]}`)?.textContent ?? '';
  return `${spanOf(at) ?? dayFormat.format(at)}: ${word}`;
}

/**
 * Whether days of this state are listed below the bars. The list has the newest day first.
 *
 * @param {string | undefined} state
 */
function isProblem(state) {
  return state === 'e' || state === 'd';
}

/**
 * The classes of a component's bars, oldest first. If several bars have one place, only the bar that is drawn
 * last is visible.
 *
 * @param {Element} component
 */
function statesOf(component) {
  /** @type {string[]} */
  const states = [];
  for (const path of component.querySelectorAll('summary path:not(.chosen)')) {
    for (const [, from, width] of (path.getAttribute('d') ?? '').matchAll(/M(\d+) 0h(\d+)/g)) {
      const first = Number(from);
      for (let day = first; day < first + Number(width); day += 1)
        states[day] = path.getAttribute('class') ?? '';
    }
  }
  return states;
}

/** @type {WeakMap<Element, { text: string, index: number | null }>} */
const states = new WeakMap();

/** @param {Element} component @param {number | null} index */
function choose(component, index) {
  const figure = component.querySelector('details + p');
  const bars = component.querySelector('summary svg');
  if (figure === null || bars === null) return;
  const state = states.get(component) ?? { text: figure.textContent ?? '', index: null };
  states.set(component, state);
  if (state.index === index) return;
  state.index = index;
  figure.textContent = index === null ? state.text : figuresOf(component, index);
  bars.querySelector('.chosen')?.remove();
  if (index === null) return;
  const mark = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  mark.setAttribute('class', 'chosen');
  mark.setAttribute('d', `M${index - 0.16} -20v40M${index + 0.83} -20v40`);
  bars.append(mark);
}

/** @param {Event} event */
function componentOf(event) {
  return event.target instanceof Element && event.target.closest('summary') !== null
    ? event.target.closest('.components > ul > li')
    : null;
}

/** @param {Element} component */
function daysOf(component) {
  const bars = component.querySelector('summary svg');
  return bars instanceof SVGSVGElement ? Math.ceil(bars.viewBox.baseVal.width) : 0;
}

document.addEventListener('pointermove', (event) => {
  const component = componentOf(event);
  for (const other of document.querySelectorAll('.components > ul > li')) {
    if (other !== component) choose(other, null);
  }
  const bars = component?.querySelector('summary svg');
  if (!component || !bars) return;
  const { left, width } = bars.getBoundingClientRect();
  const count = daysOf(component);
  choose(component, Math.min(count - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * count))));
});

document.addEventListener('keydown', (event) => {
  const component = componentOf(event);
  if (component === null) return;
  const count = daysOf(component);
  const index = states.get(component)?.index ?? null;
  /** @type {Record<string, number | null>} */
  const moves = {
    ArrowLeft: Math.max(0, (index ?? count) - 1),
    ArrowRight: Math.min(count - 1, (index ?? count - 2) + 1),
    Home: 0,
    End: count - 1,
    Escape: null,
  };
  if (!(event.key in moves)) return;
  event.preventDefault();
  component.querySelector('details + p')?.setAttribute('aria-live', 'polite');
  choose(component, moves[event.key] ?? null);
});

document.addEventListener('focusout', (event) => {
  const component = componentOf(event);
  if (component !== null) choose(component, null);
});

/** Loads newer content, unless the visitor is using the present content. */
async function refresh() {
  const main = document.querySelector('main');
  const selection = getSelection();
  const isInUse =
    main === null ||
    document.hidden ||
    main.contains(document.activeElement) ||
    main.querySelector('.chosen') !== null ||
    (selection !== null && !selection.isCollapsed);
  if (isInUse) return;
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (!answer.ok) return;
  const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const opened = [...main.querySelectorAll('details[open]')].flatMap((one) => one.closest('li')?.id ?? []);
  for (const part of ['.stale', 'main', '.page-foot']) {
    const now = document.querySelector(part);
    const then = next.querySelector(part);
    if (now !== null && then !== null) now.replaceWith(then);
    else if (now !== null) now.remove();
    else if (then !== null) document.querySelector('.page-head')?.before(then);
  }
  for (const id of opened) document.getElementById(id)?.querySelector('details')?.setAttribute('open', '');
  document.title = next.title;
  document.dispatchEvent(new Event('svc:content'));
}

showDays();
document.addEventListener('svc:content', showDays);
// After a failure the next attempt comes in a minute. The page itself says how old it is.
setInterval(() => void refresh().catch(() => {}), REFRESH_MS);
