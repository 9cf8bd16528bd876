import { LIMITS } from '@svc/shared/limits.ts';
import {
  type CheckResult,
  checkResult,
  type ResultBatch,
  resultBatch,
} from '@svc/shared/messages/check-result.ts';
import { regionOfSubject } from '@svc/shared/messages/subjects.ts';
import type { StreamMessage } from '@svc/shared/nats/bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import { isWithinOutline, type Outline } from '@svc/shared/text/json-outline.ts';

/** The results of one message, without the entries that are not results. */
export type ParsedResults = {
  region: Region;
  agent: string;
  results: CheckResult[];
  /** Number of entries that are not results. */
  malformed: number;
};

/**
 * Size from which the outline of a message is checked, bytes. Parsing a shorter message takes at most 3 ms,
 * whatever it contains.
 */
const LOOK_FROM_BYTES = 64 * 1_024;

/**
 * Maximum numbers of the parts of a message. A batch of an agent has at most 512 results,
 * each with a list, phases and eleven attempts. In a batch, a string takes 13 bytes on
 * average and a member 8 bytes, so the longest message (256 KiB) has some 20,000 strings
 * and 33,000 members. The limits leave room for members that newer agents may add.
 */
const MOST: Outline = { lists: 4_096, objects: 8_192, texts: 22_000, commas: 40_000 };

/** Number of entries between two calls of `pause`. An entry that is not a result takes up to 80 µs. */
const ENTRIES_AT_ONCE = 16;

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads the results of a stream's message. Each result is parsed by itself, so that an invalid result does
 * not prevent the other results from being read. The subject names the region.
 *
 * @param pause called before the first entry and after every 16 entries; returns a promise that parsing waits
 *   for before it calls `pause` again; undefined: parsing continues at once
 * @returns the results, or the problem as text if the message as a whole is not a batch of results
 */
export async function parseResults(
  message: StreamMessage,
  pause: () => Promise<void> | undefined = () => undefined,
): Promise<ParsedResults | string> {
  const region = regionOfSubject(message.subject);
  if (region === null) return 'its subject names no region';
  if (message.data.length > LIMITS.messageBytes) return `it is longer than ${LIMITS.messageBytes} bytes`;
  const batch = batchIn(message.data);
  if (typeof batch === 'string') return batch;
  const results: CheckResult[] = [];
  let malformed = 0;
  const { results: entries } = batch;
  for (let index = 0; index < entries.length; index += 1) {
    if (index % ENTRIES_AT_ONCE === 0) {
      for (let wait = pause(); wait !== undefined; wait = pause()) await wait;
    }
    const result = checkResult.safeParse(entries[index]);
    if (result.success) results.push(result.data);
    else malformed += 1;
  }
  return { region, agent: batch.agent, results, malformed };
}

function batchIn(data: Uint8Array): ResultBatch | string {
  if (data.length >= LOOK_FROM_BYTES && !isWithinOutline(data, MOST)) {
    return 'it has more parts than a batch of results can have';
  }
  let json: unknown;
  try {
    json = JSON.parse(UTF8.decode(data));
  } catch {
    return 'it is not JSON';
  }
  return resultBatch.safeParse(json).data ?? 'it is not a batch of results';
}
