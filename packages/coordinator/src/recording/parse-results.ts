import type { StreamMessage } from '@svc/shared/bus.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import { type CheckResult, readCheckResult, resultBatch } from '@svc/shared/messages/check-result.ts';
import { regionOfSubject } from '@svc/shared/messages/subjects.ts';
import type { Region } from '@svc/shared/regions.ts';

export type ParsedResults = {
  region: Region;
  agent: string;
  results: CheckResult[];
  /** Entries that are no result. */
  malformed: number;
};

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The results in a message of the stream, each parsed for itself, so that a bad one does not cost its
 * neighbours. The subject says which region speaks.
 *
 * @returns what is wrong, when the message as a whole is no batch of results
 */
export function parseResults(message: StreamMessage): ParsedResults | string {
  const region = regionOfSubject(message.subject);
  if (region === null) return 'its subject names no region';
  if (message.data.length > LIMITS.messageBytes) return `it is longer than ${LIMITS.messageBytes} bytes`;
  let json: unknown;
  try {
    json = JSON.parse(UTF8.decode(message.data));
  } catch {
    return 'it is no JSON';
  }
  const batch = resultBatch.safeParse(json);
  if (!batch.success) return 'it is no batch of results';
  const results: CheckResult[] = [];
  let malformed = 0;
  for (const entry of batch.data.results) {
    const result = readCheckResult(entry);
    if (result === null) malformed += 1;
    else results.push(result);
  }
  return { region, agent: batch.data.agent, results, malformed };
}
