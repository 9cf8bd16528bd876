import { LIMITS } from '@svc/shared/limits.ts';
import { lines, oneLine, wellFormed } from '@svc/shared/resources/texts.ts';
import { z } from 'zod';
import { instantOf } from '../verdict/local-time.ts';
import { id } from './answers.ts';

/**
 * Schema of a text with at most this number of characters. A character is
 * a code point, as in JSON Schema and in the limits of declared resources.
 */
export function textUpTo(characters: number, text = z.string('must be a string')) {
  return text
    .refine((given) => isUpTo(given, characters), `may have at most ${characters} characters`)
    .meta({ maxLength: characters });
}

/**
 * Whether a text has at most this number of code points. A code
 * point has one or two UTF-16 units, so most texts need no count.
 */
function isUpTo(text: string, characters: number): boolean {
  if (text.length <= characters) return true;
  return text.length <= 2 * characters && [...text].length <= characters;
}

/** Schema for the name of a token or workspace: one line, without surrounding blanks. */
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
 * Schema of an instant in a body: a time with an offset,
 * or a local time in the time zone that the body names.
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
 * The instant of a text that {@link instantOrLocal} accepts, epoch ms.
 *
 * @param zone a known time zone, used for a local time
 */
export function readInstant(text: string, zone: string): number {
  if (INSTANT.safeParse(text).success) return Date.parse(text);
  return instantOf(zone, Date.parse(`${text}Z`));
}

/** Text of an instant in an answer. @param at epoch ms */
export function instantText(at: number): string {
  return new Date(at).toISOString();
}

/** Like {@link instantText}. Returns null when the instant is missing. */
export function instantTextOrNull(at: number | null | undefined): string | null {
  return at === null || at === undefined ? null : instantText(at);
}

/** Schema of a longer text that people write. Line breaks are allowed. */
export function noteText(description: string) {
  return textUpTo(LIMITS.noteText)
    .superRefine((text, context) => {
      const wrong = wellFormed(text) ?? lines(text);
      if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
    })
    .meta({ description, maxLength: LIMITS.noteText });
}

/** Schema of a list of ids in a body. */
export function idList(description: string) {
  return z
    .array(id)
    .max(LIMITS.noteTargets, `may have at most ${LIMITS.noteTargets} ids`)
    .nullish()
    .meta({ description });
}

/** Converts ids to numbers and removes repeated ones. */
export function numbers(ids: readonly string[] | null | undefined): number[] {
  return [...new Set(ids ?? [])].map(Number);
}
