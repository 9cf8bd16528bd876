import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { messageOf } from '@svc/shared/errors.ts';
import type { ReadyAnswer, Site } from '../web/site.ts';
import { countAnswer, countRequest, NO_ENDPOINT } from './api-counters.ts';
import type { ApiParts } from './api-parts.ts';
import { hostOf } from './host-check.ts';
import { requestIdOf } from './request-id.ts';
import { isOwnHost } from './visits.ts';

type Parts = Pick<ApiParts, 'publicUrl' | 'counters' | 'clock' | 'log'>;

/**
 * Sends what sites have ready, and gives every other request to `handle`. It does for these answers what the common
 * steps of all requests do: their id, counts and the log.
 */
export function readyFirst(handle: RequestListener, sites: readonly Site[], parts: Parts): RequestListener {
  return (incoming, outgoing) => {
    const startedAt = parts.clock.monotonic();
    const answer = readyAnswer(incoming, sites, parts);
    if (answer === null) handle(incoming, outgoing);
    else send(answer, { incoming, outgoing, startedAt }, parts);
  };
}

function readyAnswer(
  { method, url: target = '', headers }: IncomingMessage,
  sites: readonly Site[],
  { publicUrl, log }: Parts,
): ReadyAnswer | null {
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  if (method !== 'GET' || hasBody) return null;
  try {
    const request = {
      target,
      headers,
      get isOwnHost() {
        return isOwnHost(hostOf(headers.host ?? null), publicUrl);
      },
    };
    for (const site of sites) {
      const answer = site.ready?.(request) ?? null;
      if (answer !== null) return answer;
    }
  } catch (error) {
    log.error(
      { error: messageOf(error) },
      'looking for a page in memory failed: it is answered as any other',
    );
  }
  return null;
}

type Exchange = {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Monotonic, ms. */
  readonly startedAt: number;
};

function send(
  { status, headers, body }: ReadyAnswer,
  { incoming, outgoing, startedAt }: Exchange,
  { counters, clock, log }: Parts,
): void {
  const given = incoming.headers['x-request-id'];
  const requestId = requestIdOf(typeof given === 'string' ? given : undefined);
  const length = body === null ? {} : { 'content-length': body.byteLength };
  outgoing.writeHead(status, { ...headers, ...length, 'x-request-id': requestId });
  outgoing.end(body);
  const tookMs = clock.monotonic() - startedAt;
  countAnswer(counters, status);
  countRequest(counters, NO_ENDPOINT, status, tookMs);
  const { method, url: path } = incoming;
  log.debug({ requestId, method, path, status, tokenId: null, ms: Math.round(tookMs) }, 'request answered');
}
