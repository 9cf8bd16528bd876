import { randomUUID } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import { mapInTurns } from '@svc/shared/collections.ts';
import { messageOf } from '@svc/shared/errors.ts';
import { regionsWith } from '@svc/shared/regions.ts';
import { type Context, type Handler, Hono, type MiddlewareHandler } from 'hono';
import type { Token } from '../store/access/tokens.ts';
import type { Site } from '../web/site.ts';
import { type ApiParts, type CountedEndpoint, countAnswer, countRequest, NO_ENDPOINT } from './api-parts.ts';
import { type AuditTrail, createLogins, RequestAudit } from './audit.ts';
import { DOCS_POLICY, docsPage } from './docs-page.ts';
import type { Endpoint, EndpointAnswer, ServedEndpoint } from './endpoint.ts';
import { apiEndpoints } from './endpoints.ts';
import { isNotModified } from './entity-tag.ts';
import type { ApiCalls, Called, Parameters } from './in-process.ts';
import { openApi } from './openapi.ts';
import { isForTheLog, Problem, problemOf } from './problem.ts';
import {
  createPeerOf,
  isExpectedHost,
  isLoopbackHost,
  plainIpv4,
  requestIdOf,
  visitOf,
} from './request-facts.ts';
import { RequestGate } from './request-gate.ts';
import { parseBody, queryParser, readBody } from './request-input.ts';

/**
 * Data about a request for the counters, the log and the request's
 * audit line. The code that answers the request fills them in.
 */
type Noted = {
  readonly requestId: string;
  endpoint: CountedEndpoint;
  audit: RequestAudit | null;
  token: Token | null;
  /** Why the request was refused; null: it was not refused, or a defect of svc is the cause. */
  refusal: string | null;
};
type Variables = { noted: Noted };
type ApiContext = Context<{ Variables: Variables }>;

type App = Hono<{ Variables: Variables }>;

/** The parts that answer requests, whether they come over a socket or from this process. */
type Answering = { readonly parts: ApiParts; readonly trail: AuditTrail; readonly gate: RequestGate };

/** Returns the address of a request's sender; null: the connection is gone. */
type PeerOf = (context: ApiContext) => string | null;

/**
 * Creates the API as a function from requests to answers. The
 * function also serves the sites. Returns the function and the sites.
 */
export function createApp(
  parts: ApiParts,
  trail: AuditTrail,
): { readonly app: App; readonly sites: readonly Site[] } {
  const app: App = new Hono();
  const peerOf: PeerOf = createPeerOf(parts.trustedProxies ?? []);
  const gate = new RequestGate(parts);
  const answering = { parts, trail, gate };
  const endpoints = apiEndpoints(parts, trail);
  const calls: ApiCalls = {
    call: createCalls(endpoints, answering),
    ...createLogins({ gate, trail, clock: parts.clock }),
  };
  const sites = parts.sites?.(calls) ?? [];
  app.use(accompany(parts, { sites, peerOf, isOfApi: pathsOf(endpoints) }));
  for (const endpoint of endpoints) {
    app.on(endpoint.method, routePath(endpoint.path), handlerOf(endpoint, peerOf, answering));
  }
  serveDocuments(app, endpoints, parts);
  app.notFound((context) =>
    unknownPath(endpoints, context.req.path).response(context.get('noted').requestId),
  );
  app.onError((error, context) => {
    const noted = context.get('noted');
    return problemFor(error, noted, context.req.path, parts).response(noted.requestId);
  });
  return { app, sites };
}

/**
 * Makes the function that says whether a path belongs to the API: its first part is
 * that of an endpoint or of the documentation, even if no endpoint has the whole path.
 */
function pathsOf(endpoints: readonly Endpoint[]): (path: string) => boolean {
  const firstOf = (path: string) => path.split('/', 2)[1];
  const firsts = new Set([DOCS_PATH, ...endpoints.map(({ path }) => path)].map(firstOf));
  return (path) => firsts.has(firstOf(path));
}

/**
 * Makes the handler that surrounds every request: it gives the request an id,
 * offers it to the sites, counts and logs the answer, and sets the common headers.
 */
function accompany(
  parts: ApiParts,
  { sites, peerOf, isOfApi }: { sites: readonly Site[]; peerOf: PeerOf; isOfApi: (path: string) => boolean },
): MiddlewareHandler<{ Variables: Variables }> {
  return async (context, next) => {
    const startedAt = parts.clock.monotonic();
    const noted = newNoted(requestIdOf(context.req.header('x-request-id')));
    const { requestId } = noted;
    context.set('noted', noted);
    const page = await pageFor(context, { parts, sites, peerOf });
    if (page !== null) {
      context.res = page;
    } else if (isOnLoopback(context, parts) && !isExpectedHost(context.req.header('host'), parts.publicUrl)) {
      context.res = misdirected(isOfApi(context.req.path)).response(requestId);
    } else {
      await next();
    }
    const { method, path } = context.req;
    noteAnswer(noted, { method, path, status: context.res.status, startedAt }, parts);
    setCommonHeaders(context, noted, page !== null);
  };
}

function newNoted(requestId: string): Noted {
  return { requestId, endpoint: NO_ENDPOINT, audit: null, token: null, refusal: null };
}

type Answered = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** When the request arrived, monotonic ms. */
  readonly startedAt: number;
};

/** Counts an answer, and writes its lines in the audit trail and in the log. */
function noteAnswer(
  { requestId, endpoint, audit, token, refusal }: Noted,
  { method, path, status, startedAt }: Answered,
  { clock, counters, log }: ApiParts,
): void {
  const tookMs = clock.monotonic() - startedAt;
  countAnswer(counters, status);
  countRequest(counters, endpoint, status, tookMs);
  audit?.noteAnswer(status, refusal);
  const tokenId = token?.id ?? null;
  log.debug({ requestId, method, path, status, tokenId, ms: Math.round(tookMs) }, 'request answered');
}

/** Whether a request came over a loopback address. The API may listen on other addresses too. */
function isOnLoopback({ env }: ApiContext, { listen }: ApiParts): boolean {
  const { incoming } = env as Partial<HttpBindings>;
  return isLoopbackHost(plainIpv4(incoming?.socket.localAddress ?? listen.host));
}

/**
 * Returns the answer of the first site that takes the request; null: no site takes it, so the API answers it.
 */
async function pageFor(
  context: ApiContext,
  { parts, sites, peerOf }: { parts: ApiParts; sites: readonly Site[]; peerOf: PeerOf },
): Promise<Response | null> {
  if (sites.length === 0) return null;
  const visit = visitOf(context.req.raw, {
    publicUrl: parts.publicUrl,
    hasTls: (parts.tls ?? null) !== null,
    peer: peerOf(context),
    requestId: context.get('noted').requestId,
  });
  for (const site of sites) {
    const page = await site.answer(visit);
    if (page !== null) return page;
  }
  return null;
}

/**
 * Sets the common headers on the answer itself. `context.header` would make
 * a new answer for each header, and would turn a text body into a stream.
 *
 * @param isPage whether a site answers, which sets most headers itself
 */
function setCommonHeaders(context: ApiContext, { requestId, token }: Noted, isPage: boolean): void {
  const { headers } = context.res;
  headers.set('x-request-id', requestId);
  if (isPage) return;
  // A client that has stored ids notices by this header that its token belongs to another workspace.
  if (token !== null) headers.set('svc-workspace', String(token.workspaceId));
  headers.set('cache-control', 'no-store');
  headers.set('x-content-type-options', 'nosniff');
}

/** A request to an endpoint before authentication and parsing. */
type Received = {
  /** Path with the ids filled in, without the query: `/v1/monitors/12`. */
  readonly path: string;
  readonly ids: Readonly<Record<string, number>>;
  readonly parameters: Iterable<readonly [string, string]>;
  readonly peer: string | null;
  readonly signal: AbortSignal;
  header(name: string): string | undefined;
  /**
   * Finds the token of the request.
   *
   * @throws Problem `unauthorized`, `rate-limited`
   */
  identify(): Token;
  /**
   * Returns the body of the request before its validation.
   *
   * @throws Problem `too-large`, `unsupported-media-type`, `malformed-request`
   */
  readBody(): unknown;
};

type Answer = (received: Received, noted: Noted) => Promise<EndpointAnswer>;

/**
 * Makes the function that admits, parses and answers the requests to one endpoint.
 * The function rejects when it refuses a request or when the handler fails.
 */
function answerOf(endpoint: ServedEndpoint, { parts, trail, gate }: Answering): Answer {
  const { access } = endpoint;
  const counted = { method: endpoint.method, route: endpoint.path };
  const parseQuery = queryParser(endpoint);
  return async (received, noted) => {
    noted.endpoint = counted;
    const { path, ids, peer, header, signal } = received;
    const { requestId } = noted;
    const audit = new RequestAudit(trail, { endpoint, path, requestId, peer, at: parts.clock.wall() });
    if (access !== 'public') {
      noted.audit = audit;
      noted.token = received.identify();
      audit.noteToken(noted.token);
      gate.admitRequest(noted.token, access);
    }
    const { token } = noted;
    const query = parseQuery(received.parameters);
    const hasBody = endpoint.body !== undefined;
    const sent = hasBody ? await received.readBody() : undefined;
    if (token !== null && hasBody) gate.confirmToken(token);
    const body = hasBody ? parseBody(endpoint, sent) : undefined;
    return endpoint.handle({ token, ids, query, body, header, audit, signal } as never);
  };
}

/** Makes the handler for requests to an endpoint that come over a socket. */
function handlerOf(
  endpoint: ServedEndpoint,
  peerOf: PeerOf,
  answering: Answering,
): Handler<{ Variables: Variables }> {
  const answer = answerOf(endpoint, answering);
  return async (context) => {
    const { req } = context;
    const peer = peerOf(context);
    const ids = Object.entries(req.param()).map(([name, text]) => [name, Number(text)]);
    const received: Received = {
      path: req.path,
      ids: Object.fromEntries(ids),
      parameters: new URL(req.url).searchParams,
      peer,
      signal: req.raw.signal,
      header: (name) => req.header(name),
      identify: () => answering.gate.identifyToken(req.header('authorization'), peer),
      readBody: () => readBody(req.raw),
    };
    return respond(context, await answer(received, context.get('noted')));
  };
}

/** Makes the function with which pages of this process call the API. */
function createCalls(endpoints: readonly ServedEndpoint[], answering: Answering): ApiCalls['call'] {
  const keyOf = ({ method, path }: Endpoint) => `${method} ${path}`;
  const answers = new Map(endpoints.map((each) => [keyOf(each), answerOf(each, answering)]));
  const { parts, gate } = answering;
  return async (caller, endpoint, parameters, { body, headers = {}, signal }) => {
    const answer = answers.get(keyOf(endpoint));
    if (answer === undefined) throw new TypeError(`nothing answers ${keyOf(endpoint)}`);
    const startedAt = parts.clock.monotonic();
    const noted = newNoted(randomUUID());
    const { method } = endpoint;
    const { path, ids, filters } = placed(endpoint.path, parameters);
    const received: Received = {
      ...{ path, ids, parameters: filters, peer: caller.peer, signal },
      header: (name) => headers[name],
      identify: () => gate.acceptToken(caller.token),
      readBody: () => body,
    };
    const called = await answer(received, noted).then(
      // The body has the type in the endpoint's schema: the
      // compiler checked that when `serve` got the handler.
      ({ status, headers = {}, body = null }): Called<never> => ({
        status,
        headers,
        body: body as never,
        problem: null,
      }),
      (error: Error): Called<never> => {
        const problem = problemFor(error, noted, path, parts);
        return { status: problem.status, headers: problem.headers, problem };
      },
    );
    noteAnswer(noted, { method, path, status: called.status, startedAt }, parts);
    return called;
  };
}

/** Splits parameters into the ids of the path and the parameters of the query. */
function placed(route: string, parameters: Parameters) {
  const ids: Record<string, number> = {};
  const filters: [string, string][] = [];
  for (const [name, value] of Object.entries(parameters)) {
    if (route.includes(`{${name}}`)) ids[name] = Number(value);
    else if (value !== null && value !== undefined) filters.push([name, String(value)]);
  }
  const path = route.replace(/\{(\w+)\}/g, (_all, name: string) => String(ids[name]));
  return { path, ids, filters };
}

const DOCS_PATH = '/docs';

/** Serves the description of the API: as an OpenAPI document for programs, and as a page for people. */
function serveDocuments(app: App, endpoints: readonly Endpoint[], { publicUrl, ownRegions }: ApiParts): void {
  const document = once(() => openApi(endpoints, publicUrl, regionsWith(ownRegions)));
  const documentText = once(() => JSON.stringify(document()));
  const readable = once(() => docsPage(document()));
  app.get('/v1/openapi.json', (context) => {
    context.header('content-type', 'application/json');
    return context.body(documentText());
  });
  app.get(DOCS_PATH, async (context) => {
    context.header('content-security-policy', DOCS_POLICY);
    return context.html(await readable());
  });
}

/**
 * Returns a function that makes a value at its first call and then
 * keeps it. Most coordinators never need the documents of the API.
 */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function unknownPath(endpoints: readonly Endpoint[], path: string): Problem {
  const methods = methodsAt(endpoints, path);
  if (methods.length === 0) return new Problem('not-found', 'the API has no such path');
  const allow = methods.join(', ');
  return new Problem('method-not-allowed', `this path takes only ${allow}`, { headers: { allow } });
}

/** Returns the problem that answers a failed request. Logs the error if the operator must look at it. */
function problemFor(error: Error, noted: Noted, path: string, { log }: ApiParts): Problem {
  const { requestId } = noted;
  if (isForTheLog(error)) {
    log.error({ error: messageOf(error), stack: error.stack, requestId, path }, 'request failed');
  }
  const known = problemOf(error);
  if (known !== null) {
    noted.refusal = known.message;
    return known;
  }
  const detail = 'this is a defect of svc: the log has the details under the request id';
  return new Problem('internal-error', detail);
}

/**
 * Makes the problem for a request over loopback that names another host:
 * `misdirected` for a path of the API, `not-found` for the path of a page.
 */
function misdirected(isOfApi: boolean): Problem {
  return new Problem(
    isOfApi ? 'misdirected' : 'not-found',
    'the request came from this machine, and names another host: use localhost, or set SVC_PUBLIC_URL to the address under which a proxy serves the API',
  );
}

function routePath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1{[1-9][0-9]{0,14}}');
}

function methodsAt(endpoints: readonly Endpoint[], path: string): string[] {
  const methods = endpoints
    .filter((endpoint) => new RegExp(`^${endpoint.path.replace(/\{\w+\}/g, '[1-9][0-9]{0,14}')}$`).test(path))
    .map(({ method }) => method);
  return methods.includes('GET') ? ['GET', 'HEAD', ...methods.filter((method) => method !== 'GET')] : methods;
}

async function respond(
  context: ApiContext,
  { status, body, headers = {} }: EndpointAnswer,
): Promise<Response> {
  const tag = context.req.method === 'GET' || context.req.method === 'HEAD' ? headers.etag : undefined;
  if (tag !== undefined && isNotModified(context.req.header('if-none-match'), tag)) {
    return context.newResponse(null, 304, { etag: tag });
  }
  const text = body === undefined ? null : typeof body === 'string' ? body : await answerText(body);
  return context.newResponse(text, status as 200, {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  });
}

/**
 * Writes an answer as JSON in UTF-8, exactly as `JSON.stringify` does. The members of a list are
 * written one at a time, and the event loop gets turns between them, because 100 monitors with large
 * bodies are 25 MiB. A list of more than {@link JOINED_BYTES} is returned as a stream of its parts.
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
  // Each part is encoded by itself: encoding the whole text at once would block the thread.
  const parts = [Buffer.from('{"data":['), ...members, Buffer.from(`]${end}`)];
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0);
  return bytes <= JOINED_BYTES ? Buffer.concat(parts) : ReadableStream.from(parts);
}

/**
 * Maximum size of a list that is returned in one piece, bytes.
 * Joining 25 MiB would block the thread for about 10 ms.
 */
const JOINED_BYTES = 1_024 * 1_024;

/** Whether the body is a list. The first member of a list is `data`. */
function isList(body: unknown): body is { data: readonly unknown[] } {
  if (typeof body !== 'object' || body === null) return false;
  return Object.keys(body)[0] === 'data' && 'data' in body && Array.isArray(body.data);
}
