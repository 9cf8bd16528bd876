import { mapInTurns } from '@svc/shared/map-in-turns.ts';

/**
 * Writes an answer as JSON in UTF-8, exactly as `JSON.stringify` does. A list is written member by member,
 * and other work gets a turn in between: 100 monitors with large bodies are 25 MiB. An answer of that size is sent in
 * its parts.
 */
export async function answerText(
  body: unknown,
): Promise<string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>> {
  if (!isList(body)) return JSON.stringify(body);
  const { data, ...envelope } = body;
  const members = await mapInTurns(data, (member, index) =>
    Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(member)}`),
  );
  const end = JSON.stringify(envelope)
    .replace(/^\{(?=")/, ',')
    .replace(/^\{\}$/, '}');
  // The parts are bytes: joining texts and encoding them would hold the thread once more for all of them.
  const parts = [Buffer.from('{"data":['), ...members, Buffer.from(`]${end}`)];
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0);
  return bytes <= JOINED_BYTES ? Buffer.concat(parts) : ReadableStream.from(parts);
}

/** Answers up to this size are sent in one piece. Joining 25 MiB would hold the thread for some 10 ms. */
const JOINED_BYTES = 1_024 * 1_024;

/** Lists have their members first. */
function isList(body: unknown): body is { data: readonly unknown[] } {
  if (typeof body !== 'object' || body === null) return false;
  return Object.keys(body)[0] === 'data' && 'data' in body && Array.isArray(body.data);
}
