import { LIMITS } from '@svc/shared/limits.ts';
import { oneLine, wellFormed } from '@svc/shared/resources/texts.ts';
import { z } from 'zod';

/**
 * Schema for a text of at most so many characters, that is code points, as JSON Schema and the limits of declared
 * resources count them.
 */
export function textUpTo(characters: number, text = z.string('must be a string')) {
  return text
    .refine((given) => isUpTo(given, characters), `may have at most ${characters} characters`)
    .meta({ maxLength: characters });
}

/** A character has one or two units of UTF-16, so most texts need no count. */
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
