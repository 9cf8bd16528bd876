import { randomUUID } from 'node:crypto';
import { messageOf } from '@svc/shared/errors.ts';
import { type Context, Hono } from 'hono';
import { z } from 'zod';
import type { Token } from '../store/tokens.ts';
import { answerText } from './answer-text.ts';
import { type CountedEndpoint, countAnswer, countRequest, NO_ENDPOINT } from './api-counters.ts';
import type { ApiParts } from './api-parts.ts';
import type { AuditTrail } from './audit.ts';
import { type Bodies, NO_BODY } from './bodies.ts';
import { docsPage } from './docs-page.ts';
import { DOCS_POLICY } from './docs-style.ts';
import type { Endpoint, EndpointAnswer } from './endpoint.ts';
import { apiEndpoints } from './endpoints.ts';
import { isNotModified } from './entity-tag.ts';
import { isExpectedHost, isLoopbackHost } from './host-check.ts';
import { openApi } from './openapi.ts';
import { createPeerOf } from './peers.ts';
import { invalid, Problem, problemOf } from './problem.ts';
import { RequestAudit } from './request-audit.ts';
import { readBodyText } from './request-body.ts';
import { RequestGate } from './request-gate.ts';

type Variables = {
  requestId: string;
  tokenId: number | null;
  workspaceId: number | null;
  audit: RequestAudit | null;
  detail: string | null;
  endpoint: CountedEndpoint;
};
type ApiContext = Context<{ Variables: Variables }>;

/** Creates the whole API as a function from requests to answers. */
export function createApp(
  parts: ApiParts,
  { bodies, trail }: { readonly bodies: Bodies; readonly trail: AuditTrail },
): Hono<{ Variables: Variables }> {
  const { clock, log, counters } = parts;
  const endpoints = apiEndpoints(parts, trail);
  const app = new Hono<{ Variables: Variables }>();
  const admission = new RequestGate(parts);
  const isHostChecked = isLoopbackHost(parts.listen.host);
  const peerOf = createPeerOf(parts.trustedProxies ?? []);

  app.use(async (context, next) => {
    const startedAt = clock.monotonic();
    const given = context.req.header('x-request-id');
    const requestId = given !== undefined && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
    context.set('requestId', requestId);
    context.set('tokenId', null);
    context.set('workspaceId', null);
    context.set('audit', null);
    context.set('detail', null);
    context.set('endpoint', NO_ENDPOINT);
    if (isHostChecked && !isExpectedHost(context.req.header('host'), parts.publicUrl)) {
      context.res = misdirected().response(requestId);
    } else {
      await next();
    }
    const { status } = context.res;
    const tookMs = clock.monotonic() - startedAt;
    countAnswer(counters, status);
    countRequest(counters, context.get('endpoint'), status, tookMs);
    context.get('audit')?.answered(status, context.get('detail'));
    context.header('x-request-id', requestId);
    // Clients that keep ids notice with it that a token belongs to another workspace.
    const workspaceId = context.get('workspaceId');
    if (workspaceId !== null) context.header('svc-workspace', String(workspaceId));
    context.header('cache-control', 'no-store');
    context.header('x-content-type-options', 'nosniff');
    log.debug(
      {
        requestId,
        method: context.req.method,
        path: context.req.path,
        status,
        tokenId: context.get('tokenId'),
        ms: Math.round(tookMs),
      },
      'request answered',
    );
  });

  /** The token of a request; null on public endpoints. */
  function admit(context: ApiContext, { access }: Endpoint, audit: RequestAudit): Token | null {
    if (access === 'public') return null;
    context.set('audit', audit);
    const token = admission.identify(context.req.header('authorization'), peerOf(context));
    context.set('tokenId', token.id);
    context.set('workspaceId', token.workspaceId);
    audit.identified(token);
    admission.admit(token, access);
    return token;
  }

  for (const endpoint of endpoints) {
    const counted = { method: endpoint.method, route: endpoint.path };
    app.on(endpoint.method, routePath(endpoint.path), async (context) => {
      context.set('endpoint', counted);
      const audit = new RequestAudit(trail, {
        endpoint,
        path: context.req.path,
        requestId: context.get('requestId'),
        peer: peerOf(context),
        at: clock.wall(),
      });
      const token = admit(context, endpoint, audit);
      const workspaceId = token?.workspaceId ?? null;
      const query = parseQuery(endpoint, new URL(context.req.url).searchParams);
      const text = endpoint.body === undefined ? null : await readBodyText(context.req.raw);
      if (token !== null && text !== null) admission.confirm(token);
      const sent = text === null ? NO_BODY : await bodies.read(text, workspaceId);
      const body = text === null ? undefined : parseBody(endpoint, sent.value);
      const { attributes, digest } = sent;
      const ids = Object.fromEntries(
        Object.entries(context.req.param()).map(([name, text]) => [name, Number(text)]),
      );
      const header = (name: string) => context.req.header(name);
      const request = { token, ids, query, body, header, attributes, digest, audit };
      return respond(context, await endpoint.handle(request as never));
    });
  }

  const document = openApi(endpoints, parts.publicUrl);
  const documentText = JSON.stringify(document);
  const readable = docsPage(document);
  app.get('/v1/openapi.json', (context) => {
    context.header('content-type', 'application/json');
    return context.body(documentText);
  });
  app.get('/docs', async (context) => {
    context.header('content-security-policy', DOCS_POLICY);
    return context.html(await readable);
  });

  app.notFound((context) => {
    const methods = methodsAt(endpoints, context.req.path);
    const wrong =
      methods.length === 0
        ? new Problem('not-found', 'the API has no such path')
        : new Problem('method-not-allowed', `this path takes only ${methods.join(', ')}`, {
            headers: { allow: methods.join(', ') },
          });
    return wrong.response(context.get('requestId'));
  });

  app.onError((error, context) => {
    const requestId = context.get('requestId');
    const known = problemOf(error);
    if (known !== null) {
      context.set('detail', known.message);
      return known.response(requestId);
    }
    log.error(
      { error: messageOf(error), stack: error.stack, requestId, path: context.req.path },
      'request failed',
    );
    const detail = 'this is a defect of svc: the log has the details under the request id';
    return new Problem('internal-error', detail).response(requestId);
  });

  return app;
}

function misdirected(): Problem {
  return new Problem(
    'misdirected',
    'the API listens only on this machine, and the request names another host: use localhost, or set SVC_PUBLIC_URL to the address under which a proxy serves the API',
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

function parseQuery(endpoint: Endpoint, parameters: URLSearchParams): unknown {
  const schema = z.strictObject(endpoint.query?.shape ?? {}, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? 'is unknown' : undefined),
  });
  const given = new Map<string, string>();
  const errors: { pointer: string; parameter: string; message: string }[] = [];
  for (const [parameter, value] of parameters) {
    if (given.has(parameter)) errors.push({ pointer: '', parameter, message: 'is given twice' });
    given.set(parameter, value);
  }
  const parsed = schema.safeParse(Object.fromEntries(given));
  for (const issue of parsed.error?.issues ?? []) {
    const names = issue.code === 'unrecognized_keys' ? issue.keys : [String(issue.path[0] ?? '')];
    errors.push(...names.map((parameter) => ({ pointer: '', parameter, message: issue.message })));
  }
  if (errors.length > 0) throw new Problem('malformed-request', 'the query is not valid', { errors });
  return parsed.data;
}

/**
 * Most members of a body that is not a declared resource: many more than any has, and few enough to check at
 * once.
 */
const MOST_MEMBERS = 100;

/** Parses a body. Declared resources are parsed by their own definition, in the handler. */
function parseBody(endpoint: Endpoint, body: unknown): unknown {
  const schema = endpoint.body;
  if (schema === undefined || 'resource' in schema) return body;
  if (typeof body === 'object' && body !== null && Object.keys(body).length > MOST_MEMBERS) {
    throw invalid([{ path: [], message: `has more than ${MOST_MEMBERS} members` }]);
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw invalid(
    parsed.error.issues.flatMap(({ code, path, message, ...issue }) =>
      code === 'unrecognized_keys' && 'keys' in issue && Array.isArray(issue.keys)
        ? issue.keys.map((key: string) => ({ path: [...path, key], message: 'is unknown' }))
        : [{ path, message }],
    ),
  );
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
