import { mapInTurns } from '@svc/shared/turns.ts';

/**
 * An answer as JSON, as `JSON.stringify` writes it. A list is written member by member, and others have their turn
 * between two: 100 monitors with large bodies are 25 MiB.
 */
export async function answerText(body: unknown): Promise<string> {
  if (!isList(body)) return JSON.stringify(body);
  const { data, ...envelope } = body;
  const members = await mapInTurns(data, (member) => JSON.stringify(member));
  return `{"data":[${members.join(',')}]${JSON.stringify(envelope)
    .replace(/^\{(?=")/, ',')
    .replace(/^\{\}$/, '}')}`;
}

/** Lists have their members first. */
function isList(body: unknown): body is { data: readonly unknown[] } {
  if (typeof body !== 'object' || body === null) return false;
  return Object.keys(body)[0] === 'data' && 'data' in body && Array.isArray(body.data);
}
