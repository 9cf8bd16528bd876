/*
 * Shows the times of a page in the visitor's zone, updates ages while the page is open, and lets the visitor fill
 * in times in their zone. The server only knows UTC: without this script times are in UTC, and say so.
 */
const language = document.documentElement.lang === 'en' ? 'en-GB' : document.documentElement.lang;
const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
const local = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' });
const zoned = new Intl.DateTimeFormat(language, { hour: 'numeric', timeZoneName: 'short' });
const whole = new Intl.DateTimeFormat(language, { dateStyle: 'full', timeStyle: 'long' });
const date = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short' });
const time = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(language, { dateStyle: 'medium' });
const minute = new Intl.DateTimeFormat(language, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});
const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
const DAY_MS = 86_400_000;

/** @type {readonly (readonly [Intl.RelativeTimeFormatUnit, number])[]} */
const UNITS = [
  ['year', 31_557_600_000],
  ['month', 2_629_800_000],
  ['day', DAY_MS],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

/** @param {number} at epoch ms */
function ageOf(at) {
  const passed = at - Date.now();
  for (const [unit, ms] of UNITS) {
    if (Math.abs(passed) >= ms) return relative.format(Math.trunc(passed / ms), unit);
  }
  return relative.format(0, 'second');
}

/** @param {number} at epoch ms */
function instantOf(at) {
  const name = zoned.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? zone;
  return `${local.format(at)} ${name}`;
}

/** @param {number} at epoch ms */
function dayOf(at) {
  return day.format(at) === day.format(Date.now()) ? relative.format(0, 'day') : day.format(at);
}

/**
 * A day in UTC, as its beginning and end in the visitor's zone; null: it is a day there too.
 *
 * @param {number} at epoch ms
 */
function spanOf(at) {
  const isDay = [at, at + DAY_MS].every((edge) => /^00:00/.test(new Date(edge).toTimeString()));
  return isDay ? null : minute.formatRange(at, at + DAY_MS);
}

/** The text of a `time` element by its `data-show`; null: the server's text. @type {Record<string, (at: number) => string | null>} */
const TEXTS = {
  age: ageOf,
  date: (at) => date.format(at),
  day: dayOf,
  instant: instantOf,
  time: (at) => time.format(at),
  'utc-day': spanOf,
};

function showTimes() {
  for (const element of document.querySelectorAll('[data-zone]')) element.textContent = zone;
  for (const element of document.querySelectorAll('time[data-show]')) {
    if (!(element instanceof HTMLTimeElement)) continue;
    const at = Date.parse(element.dateTime);
    const shown = TEXTS[element.dataset.show ?? '']?.(at) ?? null;
    // An unchanged text is not written again, because this would remove the visitor's selection.
    if (shown !== null && element.textContent !== shown) element.textContent = shown;
    element.title = `${whole.format(at)} (${new Date(at).toISOString()})`;
  }
}

/**
 * Shows the value of an input in the visitor's zone, and sends it in UTC. A value that the visitor does not change
 * is sent as the server wrote it, because a local time names two instants when clocks are set back.
 *
 * @param {HTMLInputElement} input
 */
function convertInput(input) {
  const sent = input.defaultValue;
  const at = Date.parse(`${sent}Z`);
  // A browser that goes back restores what the visitor saw, which is in their zone already.
  if (input.value === sent && !Number.isNaN(at)) {
    const offset = new Date(at).getTimezoneOffset() * 60_000;
    input.value = new Date(at - offset).toISOString().slice(0, -1);
  }
  const shown = input.value;
  input.form?.addEventListener('formdata', ({ formData }) => {
    const chosen = Date.parse(input.value);
    if (input.value === shown) formData.set(input.name, sent);
    else formData.set(input.name, Number.isNaN(chosen) ? '' : new Date(chosen).toISOString().slice(0, -1));
  });
}

showTimes();
for (const input of document.querySelectorAll('input[data-utc]')) {
  if (input instanceof HTMLInputElement) convertInput(input);
}
for (const input of document.querySelectorAll('input[data-own-zone]')) {
  if (input instanceof HTMLInputElement && input.value === '') input.value = zone;
}
// Other scripts send this event after they put new content into the page.
document.addEventListener('svc:content', showTimes);
setInterval(showTimes, 15_000);
