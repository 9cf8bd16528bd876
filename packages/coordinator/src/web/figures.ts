/**
 * Cached formats, by language and options. Making a format takes 30 µs, and a page has thousands of figures
 * and times.
 */
const numberFormats = new Map<string, Intl.NumberFormat>();
const dateFormats = new Map<string, Intl.DateTimeFormat>();
const ageFormats = new Map<string, Intl.RelativeTimeFormat>();

/** A cached `Intl.NumberFormat`. The cache is small, because languages and options come from the code. */
export function numberFormat(language: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = keyOf(language, options);
  const known = numberFormats.get(key) ?? new Intl.NumberFormat(language, options);
  numberFormats.set(key, known);
  return known;
}

/** A cached `Intl.DateTimeFormat`. */
export function dateFormat(language: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = keyOf(language, options);
  const known = dateFormats.get(key) ?? new Intl.DateTimeFormat(language, options);
  dateFormats.set(key, known);
  return known;
}

/** A cached `Intl.RelativeTimeFormat` for ages. */
export function ageFormat(language: string): Intl.RelativeTimeFormat {
  const known = ageFormats.get(language) ?? new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  ageFormats.set(language, known);
  return known;
}

function keyOf(language: string, options: object): string {
  return `${language} ${JSON.stringify(options)}`;
}

/**
 * A share as a percentage, rounded down, so that 99.9999 % is never shown as 100 %.
 *
 * @param share 0 to 1; null: there is no data
 * @returns `99.98%` in English, `99,98 %` in German; a dash for null
 */
export function percentage(share: number | null, language = 'en'): string {
  if (share === null) return '–';
  // 1e-7 absorbs binary rounding: 99.99 / 100 is 0.99989999…, which would be shown as 99.98 %.
  const exact = Math.floor(share * 10_000 + 1e-7) / 10_000;
  return numberFormat(language, { style: 'percent', minimumFractionDigits: 2 }).format(exact);
}

/**
 * A latency: `84 ms` or `1.25 sec` in English; a dash for null.
 *
 * @param ms at least 0
 */
export function latencyText(ms: number | null, language = 'en'): string {
  if (ms === null) return '–';
  const isLong = ms >= 1_000;
  return numberFormat(language, {
    style: 'unit',
    unit: isLong ? 'second' : 'millisecond',
    unitDisplay: 'short',
    maximumFractionDigits: isLong ? 2 : ms < 10 ? 1 : 0,
  }).format(isLong ? ms / 1_000 : ms);
}

/**
 * A share of time as text.
 *
 * @param percent from the API, rounded down to two decimals; null: there is no data
 */
export function percentText(percent: number | null): string {
  return percentage(percent === null ? null : percent / 100);
}
