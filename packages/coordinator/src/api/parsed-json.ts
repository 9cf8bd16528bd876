import type { ReadBody } from './body-protocol.ts';
import { wrongInJson } from './json-scan.ts';

/** A body's JSON; without what only some readers would understand in the same way. */
export function parsedJson(text: string): ReadBody {
  if (text.trim() === '') return { malformed: 'the body is empty' };
  try {
    const value: unknown = JSON.parse(text);
    const malformed = wrongInJson(text);
    return malformed === null ? { value } : { malformed };
  } catch (error) {
    return { malformed: `the body is not JSON${placeOf(error)}` };
  }
}

/** Only the position: V8's message repeats the text around it, which may be a secret. */
function placeOf(error: unknown): string {
  const place = error instanceof Error ? /\(line (\d+) column (\d+)\)/.exec(error.message) : null;
  return place === null ? '' : `: line ${place[1]}, column ${place[2]}`;
}
