import { oneLine, wellFormed } from '@svc/shared/resources/texts.ts';
import { z } from 'zod';

/** Schema for the name of a token or workspace: one line, without surrounding blanks. */
export function nameSchema(description: string) {
  return z
    .string('must be a string')
    .trim()
    .min(1, 'must not be empty')
    .max(256, 'may have at most 256 characters')
    .superRefine((text, context) => {
      const wrong = wellFormed(text) ?? oneLine(text);
      if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
    })
    .meta({ description });
}
