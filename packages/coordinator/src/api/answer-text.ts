import { mapInTurns } from '@svc/shared/map-in-turns.ts';

/**
 * Writes an answer as JSON in UTF-8, exactly as `JSON.stringify` does. A list is written member by member,
 * and other work gets a turn in between: 100 monitors with large bodies are 25 MiB.
 */
export async function answerText(body: unknown): Promise<string | Uint8Array<ArrayBuffer>> {
  if (!isList(body)) return JSON.stringify(body);
  const { data, ...envelope } = body;
  const members = await mapInTurns(data, (member, index) =>
    Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(member)}`),
  );
  const end = JSON.stringify(envelope)
    .replace(/^\{(?=")/, ',')
    .replace(/^\{\}$/, '}');
  // The parts are bytes: joining texts and encoding them would hold the thread once more for all of them.
  return Buffer.concat([Buffer.from('{"data":['), ...members, Buffer.from(`]${end}`)]);
}

/** Lists have their members first. */
function isList(body: unknown): body is { data: readonly unknown[] } {
  if (typeof body !== 'object' || body === null) return false;
  return Object.keys(body)[0] === 'data' && 'data' in body && Array.isArray(body.data);
}
