import type { HttpBindings } from '@hono/node-server';
import { messageOf } from '@svc/shared/errors.ts';
import { type Context, type Handler, Hono, type MiddlewareHandler } from 'hono';
import type { Token } from '../store/tokens.ts';
import type { Site } from '../web/site.ts';
import { answerText } from './answer-text.ts';
import { type CountedEndpoint, countAnswer, countRequest, NO_ENDPOINT } from './api-counters.ts';
import type { ApiParts } from './api-parts.ts';
import type { AuditTrail } from './audit.ts';
import { docsPage } from './docs-page.ts';
import { DOCS_POLICY } from './docs-style.ts';
import type { Endpoint, EndpointAnswer, ServedEndpoint } from './endpoint.ts';
import { apiEndpoints } from './endpoints.ts';
import { isNotModified } from './entity-tag.ts';
import { isExpectedHost, isLoopbackHost } from './host-check.ts';
import { type ApiCalls, callApi, callerOf } from './in-process.ts';
import { linkRefused, loggedIn, noteLogin, noteLogout, noteRefusal } from './login.ts';
import { openApi } from './openapi.ts';
import { createPeerOf, plainIpv4 } from './peers.ts';
import { isForTheLog, Problem, problemOf } from './problem.ts';
import { RequestAudit } from './request-audit.ts';
import { readBody } from './request-body.ts';
import { RequestGate } from './request-gate.ts';
import { requestIdOf } from './request-id.ts';
import { parseBody, queryParser } from './request-input.ts';
import { visitOf } from './visits.ts';

type Variables = {
  requestId: string;
  tokenId: number | null;
  workspaceId: number | null;
  audit: RequestAudit | null;
  detail: string | null;
  endpoint: CountedEndpoint;
};
type ApiContext = Context<{ Variables: Variables }>;

type App = Hono<{ Variables: Variables }>;

/** Headers of every answer. */
type Answering = {
  readonly parts: ApiParts;
  readonly trail: AuditTrail;
  readonly gate: RequestGate;
  readonly peerOf: PeerOf;
};

/** Finds the address of a request's sender; null: the connection is gone. */
type PeerOf = (context: ApiContext) => string | null;

/** Creates the whole API as a function from requests to answers, with the sites that are served beside it. */
export function createApp(
  parts: ApiParts,
  trail: AuditTrail,
): { readonly app: App; readonly sites: readonly Site[] } {
  const app: App = new Hono();
  const peerOfSocket = createPeerOf(parts.trustedProxies ?? []);
  const peerOf = (context: ApiContext) => {
    const caller = callerOf(context.env);
    return caller === null ? peerOfSocket(context) : caller.peer;
  };
  const gate = new RequestGate(parts);
  const answering = { parts, trail, gate, peerOf };
  const endpoints = apiEndpoints(parts, trail);
  const calls: ApiCalls = {
    call: (caller, call) => callApi(app.fetch, caller, call),
    login: (secret, from) => loggedIn(secret, from, { gate, trail, clock: parts.clock }),
    refuseLink: (from) => linkRefused(from, { gate, trail, clock: parts.clock }),
    noteLogin: (token, from) => noteLogin(token, from, { trail, clock: parts.clock }),
    noteLogout: (token, from) => noteLogout(token, from, { trail, clock: parts.clock }),
    noteRefusal: (refusal, from) => noteRefusal(refusal, from, { trail, at: parts.clock.wall() }),
  };
  const sites = parts.sites?.(calls) ?? [];
  app.use(accompany(parts, { sites, peerOf, isOfApi: pathsOf(endpoints) }));
  for (const endpoint of endpoints) {
    app.on(endpoint.method, routePath(endpoint.path), handlerOf(endpoint, answering));
  }
  serveDocuments(app, endpoints, parts);
  app.notFound((context) => unknownPath(endpoints, context.req.path).response(context.get('requestId')));
  app.onError((error, context) => failed(error, context, parts));
  return { app, sites };
}

/** Makes the function that tells the paths of the API, known or not, from those of pages: by their first part. */
function pathsOf(endpoints: readonly Endpoint[]): (path: string) => boolean {
  const firstOf = (path: string) => path.split('/', 2)[1];
  const firsts = new Set([DOCS_PATH, ...endpoints.map(({ path }) => path)].map(firstOf));
  return (path) => firsts.has(firstOf(path));
}

/** The common steps of all requests: their id, counts, the log, and headers of the answer. */
function accompany(
  parts: ApiParts,
  { sites, peerOf, isOfApi }: { sites: readonly Site[]; peerOf: PeerOf; isOfApi: (path: string) => boolean },
): MiddlewareHandler<{ Variables: Variables }> {
  const { clock, counters } = parts;
  return async (context, next) => {
    const startedAt = clock.monotonic();
    const requestId = beginRequest(context);
    const page = await pageFor(context, { parts, sites, peerOf });
    if (page !== null) {
      context.res = page;
    } else if (isOnLoopback(context, parts) && !isExpectedHost(context.req.header('host'), parts.publicUrl)) {
      context.res = misdirected(isOfApi(context.req.path)).response(requestId);
    } else {
      await next();
    }
    const { status } = context.res;
    const tookMs = clock.monotonic() - startedAt;
    countAnswer(counters, status);
    countRequest(counters, context.get('endpoint'), status, tookMs);
    context.get('audit')?.answered(status, context.get('detail'));
    setCommonHeaders(context, requestId, page !== null);
    const { method, path } = context.req;
    const tokenId = context.get('tokenId');
    parts.log.debug({ requestId, method, path, status, tokenId, ms: Math.round(tookMs) }, 'request answered');
  };
}

/** Whether a request came in over a loopback address, as it can also where the API listens on all addresses. */
function isOnLoopback({ env }: ApiContext, { listen }: ApiParts): boolean {
  const { incoming } = env as Partial<HttpBindings>;
  return isLoopbackHost(plainIpv4(incoming?.socket.localAddress ?? listen.host));
}

/** @returns the id of the request */
function beginRequest(context: ApiContext): string {
  const requestId = requestIdOf(context.req.header('x-request-id'));
  context.set('requestId', requestId);
  context.set('tokenId', null);
  context.set('workspaceId', null);
  context.set('audit', null);
  context.set('detail', null);
  context.set('endpoint', NO_ENDPOINT);
  return requestId;
}

/** The page of a site that takes the request; null: it is for the API. */
async function pageFor(
  context: ApiContext,
  { parts, sites, peerOf }: { parts: ApiParts; sites: readonly Site[]; peerOf: PeerOf },
): Promise<Response | null> {
  if (sites.length === 0 || callerOf(context.env) !== null) return null;
  const visit = visitOf(context.req.raw, {
    publicUrl: parts.publicUrl,
    hasTls: (parts.tls ?? null) !== null,
    peer: peerOf(context),
    requestId: context.get('requestId'),
  });
  for (const site of sites) {
    const page = await site.answer(visit);
    if (page !== null) return page;
  }
  return null;
}

/**
 * Sets headers of the answer itself: `context.header` makes another answer for each of them, with a stream for a body
 * that was a text.
 *
 * @param isPage a page sets its own headers
 */
function setCommonHeaders(context: ApiContext, requestId: string, isPage: boolean): void {
  const { headers } = context.res;
  headers.set('x-request-id', requestId);
  if (isPage) return;
  // Clients that keep ids notice with it that a token belongs to another workspace.
  const workspaceId = context.get('workspaceId');
  if (workspaceId !== null) headers.set('svc-workspace', String(workspaceId));
  headers.set('cache-control', 'no-store');
  headers.set('x-content-type-options', 'nosniff');
}

/** Admits, parses and answers the requests of one endpoint. */
function handlerOf(endpoint: ServedEndpoint, answering: Answering): Handler<{ Variables: Variables }> {
  const { parts, trail, gate, peerOf } = answering;
  const counted = { method: endpoint.method, route: endpoint.path };
  const parseQuery = queryParser(endpoint);
  return async (context) => {
    context.set('endpoint', counted);
    const audit = new RequestAudit(trail, {
      endpoint,
      path: context.req.path,
      requestId: context.get('requestId'),
      peer: peerOf(context),
      at: parts.clock.wall(),
    });
    const token = admit(context, endpoint, audit, answering);
    const query = parseQuery(new URL(context.req.url).searchParams);
    const hasBody = endpoint.body !== undefined;
    const sent = hasBody ? await readBody(context.req.raw) : undefined;
    if (token !== null && hasBody) gate.confirm(token);
    const body = hasBody ? parseBody(endpoint, sent) : undefined;
    const ids = Object.fromEntries(
      Object.entries(context.req.param()).map(([name, text]) => [name, Number(text)]),
    );
    const header = (name: string) => context.req.header(name);
    const { signal } = context.req.raw;
    const request = { token, ids, query, body, header, audit, signal };
    return respond(context, await endpoint.handle(request as never));
  };
}

/** The token of a request; null on public endpoints. */
function admit(
  context: ApiContext,
  { access }: Endpoint,
  audit: RequestAudit,
  { gate, peerOf }: Answering,
): Token | null {
  if (access === 'public') return null;
  context.set('audit', audit);
  const caller = callerOf(context.env);
  const token =
    caller === null
      ? gate.identify(context.req.header('authorization'), peerOf(context))
      : gate.identified(caller.token);
  context.set('tokenId', token.id);
  context.set('workspaceId', token.workspaceId);
  audit.identified(token);
  gate.admit(token, access);
  return token;
}

const DOCS_PATH = '/docs';

/** The description of the API, for programs and for people. */
function serveDocuments(app: App, endpoints: readonly Endpoint[], { publicUrl }: ApiParts): void {
  const document = once(() => openApi(endpoints, publicUrl));
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

/** Makes a value when it is first asked for: few starts of a coordinator are ever asked for its documents. */
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

function failed(error: Error, context: ApiContext, { log }: ApiParts): Response {
  const requestId = context.get('requestId');
  if (isForTheLog(error)) {
    log.error(
      { error: messageOf(error), stack: error.stack, requestId, path: context.req.path },
      'request failed',
    );
  }
  const known = problemOf(error);
  if (known !== null) {
    context.set('detail', known.message);
    return known.response(requestId);
  }
  const detail = 'this is a defect of svc: the log has the details under the request id';
  return new Problem('internal-error', detail).response(requestId);
}

/** A host that is not ours may have wanted a page, for which the answer is that there is none. */
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
