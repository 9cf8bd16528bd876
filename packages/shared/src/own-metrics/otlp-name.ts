import type { Instrument, Unit } from '../metrics/instrument.ts';

/** UCUM, as OTLP has units. */
const UNITS = { seconds: 's', bytes: 'By' } as const satisfies Record<Unit, string>;

/**
 * Name and unit of an instrument in OTLP. Unit and `_total` are not part of a name there: receivers that translate
 * names for Prometheus append both, so that a metric has one name whichever way it came.
 */
export function otlpName({ name, unit }: Pick<Instrument, 'name' | 'unit'>): { name: string; unit: string } {
  const stem = name.replace(/_total$/, '');
  return unit === null
    ? { name: stem, unit: '' }
    : { name: stem.slice(0, -`_${unit}`.length), unit: UNITS[unit] };
}
