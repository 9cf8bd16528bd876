import { largestUnits } from '@svc/shared/time-texts.ts';
import { ageFormat, dateFormat, numberFormat } from './figures.ts';
import { type Html, html } from './html.ts';

/** Units of an age with their mean lengths, ms, the longest first. */
const UNITS = [
  ['year', 365.25 * 86_400_000],
  ['month', 30.4375 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/**
 * An instant in UTC: `22 Nov 2026, 14:03 UTC`. In browsers `times.js` shows it in the visitor's zone.
 *
 * @param at epoch ms
 */
export function instant(at: number, language = 'en'): Html {
  return html`<time datetime="${new Date(at).toISOString()}" data-show="instant">${instantText(at, language)}</time>`;
}

/** An instant as `utcText` writes it. */
const UTC_TEXT = /(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)/;

/** A text of the API, in which the texts of `utcText` are replaced by {@link instant}. */
export function withInstants(text: string): Html {
  return html`${text.split(UTC_TEXT).map((part) => {
    const at = UTC_TEXT.test(part) ? Date.parse(part) : Number.NaN;
    return Number.isNaN(at) ? part : instant(at);
  })}`;
}

/** The zone in which the page shows times. In browsers `times.js` names the visitor's. */
export function zoneName(): Html {
  return html`<span data-zone>UTC</span>`;
}

/** The day and month of an instant in UTC: `22 Nov`. In browsers `times.js` shows it in the visitor's zone. */
export function date(at: number): Html {
  return timeShown(at, 'date', dateFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' }));
}

/** The time of day of an instant in UTC: `14:03`. In browsers `times.js` shows it in the visitor's zone. */
export function timeOfDay(at: number): Html {
  return timeShown(at, 'time', dateFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' }));
}

/** The day of an instant: `today`, `22 Nov 2026`. In browsers `times.js` shows it in the visitor's zone. */
export function dayOf(at: number, now: number): Html {
  const format = dateFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
  const isToday = format.format(at) === format.format(now);
  return html`<time datetime="${new Date(at).toISOString()}" data-show="day">${isToday ? 'today' : format.format(at)}</time>`;
}

function timeShown(at: number, show: string, format: Intl.DateTimeFormat): Html {
  return html`<time datetime="${new Date(at).toISOString()}" data-show="${show}">${format.format(at)}</time>`;
}

/** The text of {@link instant}. */
export function instantText(at: number, language = 'en'): string {
  const format = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' } as const;
  return `${dateFormat(localeOf(language), format).format(at)} UTC`;
}

/**
 * An age: `3 minutes ago`. In browsers `times.js` updates the text while the page is open.
 *
 * @param at epoch ms
 * @param now epoch ms
 */
export function age(at: number, now: number, language = 'en'): Html {
  return html`<time datetime="${new Date(at).toISOString()}" data-show="age">${ageText(at, now, language)}</time>`;
}

/** The text of {@link age}. */
export function ageText(at: number, now: number, language = 'en'): string {
  const passed = at - now;
  const [unit, ms] = UNITS.find(([, length]) => Math.abs(passed) >= length) ?? UNITS[5];
  return ageFormat(language).format(Math.trunc(passed / ms), unit);
}

/**
 * A duration in its two largest units: `3 days 4 hr`.
 *
 * @param ms at least 0
 */
export function durationText(ms: number, language = 'en'): string {
  const parts = largestUnits(ms).map(({ unit, count }) => amount(count, unit, language));
  return parts.length === 0 ? amount(0, 'second', language) : parts.join(' ');
}

function amount(count: number, unit: string, language: string): string {
  return numberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(count);
}

/** The locale of a language. British English writes the day before the month, and uses the 24-hour clock. */
function localeOf(language: string): string {
  return language === 'en' ? 'en-GB' : language;
}
