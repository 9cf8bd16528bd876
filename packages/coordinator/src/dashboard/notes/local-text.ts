import { isTimeZone, localAt } from '../../domain/local-time.ts';

/**
 * A local date and time as inputs have it: `2027-01-01T02:00`.
 *
 * @param instant as the API answers it
 * @returns null: there is no instant
 */
export function localText(instant: unknown, zone: string): string | null {
  if (typeof instant !== 'string') return null;
  const local = localAt(isTimeZone(zone) ? zone : 'UTC', Date.parse(instant));
  return new Date(local).toISOString().replace(/(?::00)?(?:\.000)?Z$/, '');
}
