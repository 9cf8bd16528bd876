import { numberFormat } from './formats.ts';

/**
 * A share as a percentage, rounded down: 99.9999 % is never shown as 100.
 *
 * @param share 0 to 1; null: there is no data
 * @returns `99.98 %` as the language writes it, or a dash
 */
export function percentage(share: number | null, language = 'en'): string {
  if (share === null) return '–';
  // A share of 0.9998 is 0.99979999… as a binary number, and would lose its last digit.
  const exact = Math.floor(share * 10_000 + 1e-7) / 10_000;
  return numberFormat(language, { style: 'percent', minimumFractionDigits: 2 }).format(exact);
}

/** A latency: `84 ms`, `1.25 s`; a dash where it is not known. @param ms at least 0 */
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
