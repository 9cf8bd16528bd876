import { z } from 'zod';
import { instantOf } from '../domain/local-time.ts';

const INSTANT = z.iso.datetime({ offset: true });
const LOCAL = z.iso.datetime({ local: true });

/** Schema of an instant in a body: with an offset, or as the local time of a time zone that the body names. */
export function instantOrLocal(description: string) {
  return z
    .string('must be a string')
    .refine(
      (text) => INSTANT.safeParse(text).success || LOCAL.safeParse(text).success,
      'must be an instant as in 2027-01-01T02:00:00Z, or a local time of time_zone as in 2027-01-01T02:00',
    )
    .meta({ description });
}

/**
 * The instant that such a text names, epoch ms.
 *
 * @param zone a known time zone
 */
export function readInstant(text: string, zone: string): number {
  if (INSTANT.safeParse(text).success) return Date.parse(text);
  return instantOf(zone, Date.parse(`${text}Z`));
}

/** An instant as the API answers it. */
export function instantText(at: number): string {
  return new Date(at).toISOString();
}
