import { LIMITS } from '@svc/shared/limits.ts';
import { lines, oneLine, wellFormed } from '@svc/shared/resources/texts.ts';
import { z } from 'zod';
import { instantOf } from '../verdict/local-time.ts';
import { id } from './answers.ts';

/**
 * Makes the schema of a text with at most this number of characters. A character
 * is a code point, as in JSON Schema and in the limits of declared resources.
 */
export function textUpTo(characters: number, text = z.string('must be a string')) {
  return text
    .refine((given) => isUpTo(given, characters), `may have at most ${characters} characters`)
    .meta({ maxLength: characters });
}

/**
 * Whether a text has at most this number of code points. A code point has one
 * or two UTF-16 units, so the code points of most texts need not be counted.
 */
function isUpTo(text: string, characters: number): boolean {
  if (text.length <= characters) return true;
  return text.length <= 2 * characters && [...text].length <= characters;
}

/** Makes the schema of the name of a token or workspace: one line. Blanks at both ends are removed. */
export function nameSchema(description: string) {
  const text = z.string('must be a string').trim().min(1, 'must not be empty');
  return textUpTo(LIMITS.noteTitle, text)
    .superRefine((text, context) => {
      const wrong = wellFormed(text) ?? oneLine(text);
      if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
    })
    .meta({ description, maxLength: LIMITS.noteTitle });
}

const INSTANT = z.iso.datetime({ offset: true });
const LOCAL = z.iso.datetime({ local: true });

/**
 * Makes the schema of an instant in a body: a time with an
 * offset, or a local time in the time zone that the body names.
 */
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
 * Returns the instant of a text that {@link instantOrLocal} accepts, epoch ms.
 *
 * @param zone a known time zone. A local time is read in this zone
 */
export function readInstant(text: string, zone: string): number {
  if (INSTANT.safeParse(text).success) return Date.parse(text);
  return instantOf(zone, Date.parse(`${text}Z`));
}

/**
 * Returns the text of an instant in an answer.
 *
 * @param at epoch ms
 */
export function instantText(at: number): string {
  return new Date(at).toISOString();
}

/** Like {@link instantText}, but returns null when there is no instant. */
export function instantTextOrNull(at: number | null | undefined): string | null {
  return at === null || at === undefined ? null : instantText(at);
}

/** Makes the schema of a longer text that people write. The text may have line breaks. */
export function noteText(description: string) {
  return textUpTo(LIMITS.noteText)
    .superRefine((text, context) => {
      const wrong = wellFormed(text) ?? lines(text);
      if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
    })
    .meta({ description, maxLength: LIMITS.noteText });
}

/** Makes the schema of a list of ids in a body. */
export function idList(description: string) {
  return z
    .array(id)
    .max(LIMITS.noteTargets, `may have at most ${LIMITS.noteTargets} ids`)
    .nullish()
    .meta({ description });
}

/** Converts ids to numbers, and leaves out repetitions. */
export function numbers(ids: readonly string[] | null | undefined): number[] {
  return [...new Set(ids ?? [])].map(Number);
}

/** Rounds a duration to tenths of a millisecond; null stays null. */
export function tenths<T extends number | null>(value: T): T | number {
  return value === null ? value : Math.round(value * 10) / 10;
}
