import type { ReadBody } from './body-protocol.ts';
import { wrongInJson } from './json-scan.ts';

/** Parses a body's JSON. It refuses texts that different readers would understand differently. */
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

/** The position of the error. V8's message itself repeats the text around it, which may be a secret. */
function placeOf(error: unknown): string {
  const place = error instanceof Error ? /\(line (\d+) column (\d+)\)/.exec(error.message) : null;
  return place === null ? '' : `: line ${place[1]}, column ${place[2]}`;
}
