import { isWithinOutline, type Outline } from '@svc/shared/json-outline.ts';

/** Shorter messages are not inspected: parsing one takes a millisecond at most. */
const LOOK_FROM_BYTES = 8 * 1_024;

/** Upper bounds of an agent's message: the outcome of a check that was run by hand has 11 attempts and 31 assertions. */
const MOST: Outline = { lists: 1_000, objects: 1_000, texts: 5_000, commas: 10_000 };

/** Whether the text may be an agent's message, judged without parsing. */
export function isWorthParsing(text: Uint8Array): boolean {
  return text.length < LOOK_FROM_BYTES || isWithinOutline(text, MOST);
}
