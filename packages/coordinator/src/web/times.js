/*
 * Shows the times of a page in the visitor's zone, and updates ages while the page is open. Without this
 * script times stay in UTC.
 */
const language = document.documentElement.lang === 'en' ? 'en-GB' : document.documentElement.lang;
const local = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' });
const whole = new Intl.DateTimeFormat(language, { dateStyle: 'full', timeStyle: 'long' });
const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });

/** @type {readonly (readonly [Intl.RelativeTimeFormatUnit, number])[]} */
const UNITS = [
  ['year', 31_557_600_000],
  ['month', 2_629_800_000],
  ['day', 86_400_000],
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

function showTimes() {
  for (const element of document.querySelectorAll('time[data-show]')) {
    if (!(element instanceof HTMLTimeElement)) continue;
    const at = Date.parse(element.dateTime);
    const shown = element.dataset.show === 'age' ? ageOf(at) : local.format(at);
    // An unchanged text is not written again, because this would remove the visitor's selection.
    if (element.textContent !== shown) element.textContent = shown;
    element.title = `${whole.format(at)} (${new Date(at).toISOString()})`;
  }
}

showTimes();
// Other scripts send this event after they put new content into the page.
document.addEventListener('svc:content', showTimes);
setInterval(showTimes, 15_000);
