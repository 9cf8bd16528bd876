import { readFileSync } from 'node:fs';
import type { Answer } from './answer.ts';
import type { Observation } from './clients/client.ts';
import { CORPUS } from './corpus.ts';
import { DIFFERENCES, type Difference } from './differences.ts';

export const CLIENTS = ['curl', 'chromium', 'blackbox'] as const;
type ClientName = (typeof CLIENTS)[number];
type Stored = Record<ClientName, { version: string; answers: Record<string, Observation> }>;

/** The stored reactions of the clients to the corpus, from the last run of `observe.ts`. */
export const OBSERVATIONS = JSON.parse(
  readFileSync(new URL('observations.json', import.meta.url), 'utf8'),
) as Stored;

/**
 * @throws Error when the client was not given this answer: run `observe.ts` again
 */
export function observed(client: ClientName, { id }: Answer): Observation {
  const observation = OBSERVATIONS[client].answers[id];
  if (observation === undefined) throw new Error(`${client} was not observed on "${id}": run observe.ts`);
  return observation;
}

/** Whether a client reacted to an answer like the probe: refused it, or saw this status and body. */
export function isSame({ expected }: Answer, observation: Observation): boolean {
  if ('refused' in expected || 'refused' in observation)
    return 'refused' in expected === 'refused' in observation;
  const { status, bytes, body = expected.body } = observation;
  return status === expected.status && bytes === expected.body.length && body === expected.body;
}

export function differs(answer: Answer): boolean {
  return CLIENTS.some((client) => !isSame(answer, observed(client, answer)));
}

export function differenceOf(answer: Answer): Difference | undefined {
  return DIFFERENCES.find(({ covers }) => covers(answer));
}

/** The answers on which some client differs, by the reason. */
export function differingAnswers(): Map<Difference, Answer[]> {
  const found = new Map<Difference, Answer[]>();
  for (const answer of CORPUS.filter(differs)) {
    const difference = differenceOf(answer);
    if (difference === undefined) throw new Error(`no reason is given for the difference on "${answer.id}"`);
    found.set(difference, [...(found.get(difference) ?? []), answer]);
  }
  return found;
}
