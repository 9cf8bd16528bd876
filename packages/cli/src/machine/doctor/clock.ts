import { messageOf } from '@svc/shared/errors.ts';
import { type FoundNames, nameProblem } from '../../name-lookups.ts';
import { type Finding, findingsOf } from './finding.ts';
import { ANSWER_MS } from './once-within.ts';

const { ok, warning, failed, skipped } = findingsOf('clock');

/** Resolution of the `Date` header, ms. The header has whole seconds. */
const RESOLUTION_MS = 1_000;
const OFF_MS = 2_000;
const FAR_OFF_MS = 30_000;

/**
 * Compares the clock of this machine with the clock of an HTTP server.
 *
 * @param url any URL whose answer has a `Date` header; null when no server is known
 */
export async function clockFindings(url: string | null, names: FoundNames): Promise<Finding[]> {
  const how = 'set SVC_BASE_URL, or give --clock-from a URL, to compare it with that server';
  if (url === null) return [skipped('the clock was not compared', how)];
  const problem = URL.canParse(url) ? nameProblem(new URL(url).hostname, names) : null;
  if (problem !== null) return [skipped(problem, how)];
  const askedAt = Date.now();
  let date: string | null;
  try {
    const answer = await fetch(url, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    date = answer.headers.get('date');
  } catch (error) {
    const why =
      error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error);
    return [skipped(`${url} does not answer: ${why}`, how)];
  }
  const server = Date.parse(date ?? '');
  if (Number.isNaN(server)) return [skipped(`${url} does not tell the time`, how)];
  const answeredAt = Date.now();
  const offMs = Math.max(0, askedAt - RESOLUTION_MS - server, server - answeredAt);
  const what = `the clock is ${offMs < OFF_MS ? 'less than 2 s' : `${Math.round(offMs / 1_000)} s`} off that of ${url}`;
  const todo = 'let chrony or systemd-timesyncd set the clock of both machines';
  if (offMs >= FAR_OFF_MS) return [failed(what, todo)];
  return [offMs >= OFF_MS ? warning(what, todo) : ok(what)];
}
