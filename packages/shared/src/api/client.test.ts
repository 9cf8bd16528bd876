import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startBlackhole } from '../../../../test/support/blackhole.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { freePort } from '../../../../test/support/free-port.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../../../../test/support/receiver.ts';
import type { Clock } from '../clock.ts';
import { Secret } from '../secret.ts';
import { ApiError } from './api-error.ts';
import { ApiClient, type ApiClientOptions, type Retry } from './client.ts';

const TOKEN = 'token-of-the-tests';

let server: Receiver;
let clock: FakeClock;
let retries: RetryLog;

beforeEach(async () => {
  server = await startReceiver();
  clock = new FakeClock();
  retries = new RetryLog();
});
afterEach(() => server.close());

/** The waits that a client announced. A test can read them and then let them pass. */
class RetryLog {
  readonly seen: Retry[] = [];
  #wake = () => {};

  add(retry: Retry): void {
    this.seen.push(retry);
    this.#wake();
  }

  /** Resolves with wait number `count` when the client announces it. */
  async number(count: number): Promise<Retry> {
    while (this.seen.length < count) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.seen[count - 1]!;
  }
}

function client(more: Partial<ApiClientOptions> = {}): ApiClient {
  return new ApiClient({
    baseUrl: server.url,
    token: new Secret(TOKEN),
    userAgent: 'svc-tests/1',
    clock,
    random: () => 0,
    onRetry: (retry) => retries.add(retry),
    ...more,
  });
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const members: T[] = [];
  for await (const member of source) members.push(member);
  return members;
}

type Answer = (response: ServerResponse, request: ReceivedRequest) => void;

/** Makes the server give these answers one after the other. The last one answers all further requests. */
function script(...answers: readonly Answer[]): void {
  let index = 0;
  server.answerWith((request, response) => {
    answers[Math.min(index, answers.length - 1)]!(response, request);
    index += 1;
  });
}

function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

function problem(status: number, code: string, more: Record<string, unknown> = {}): Answer {
  const body = { type: `urn:svc:problem:${code}`, title: code, status, detail: `it is ${code}`, ...more };
  return json(status, body, { 'content-type': 'application/problem+json' });
}

const fine = json(200, { id: '5' });
const html: (status: number) => Answer = (status) => (response) => {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' });
  response.end('<html>hello</html>');
};
const reset: Answer = (response) => response.socket?.resetAndDestroy();

async function failure(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(
    () => expect.unreachable('it succeeded'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ApiError);
  expect((error as ApiError).message).not.toContain(TOKEN);
  return error as ApiError;
}

describe('a request', () => {
  test('carries token, user agent, query and body', async () => {
    script(json(201, { id: '5' }, { etag: '"1"' }));
    const answer = await client({ baseUrl: `${server.url}/svc/` }).post(
      '/v1/monitors',
      { name: 'a' },
      { idempotencyKey: 'key-1', query: { limit: 5, all: undefined, name: 'ä &' } },
    );
    expect(answer).toMatchObject({ status: 201, body: { id: '5' } });
    expect(answer.headers.get('etag')).toBe('"1"');
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      path: '/svc/v1/monitors?limit=5&name=%C3%A4+%26',
      json: { name: 'a' },
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'user-agent': 'svc-tests/1',
        'content-type': 'application/json',
        'idempotency-key': 'key-1',
      },
    });
  });

  test('an answer without a body is null', async () => {
    script((response) => response.writeHead(204).end());
    expect(await client().delete('/v1/monitors/5')).toMatchObject({ status: 204, body: null });
  });

  test('ten at once are all under way before the first is answered', async () => {
    const open: ServerResponse[] = [];
    script((response) => open.push(response));
    const one = client();
    const answers = Promise.all(Array.from({ length: 10 }, () => one.get('/v1/monitors/5')));
    await server.received(10);
    await Promise.all(open.map((response) => json(200, {})(response, server.requests[0]!)));
    expect(await answers).toHaveLength(10);
  });

  test.each([
    ['an address without a scheme', { baseUrl: 'svc.example.com' }],
    ['a token with a line end', { token: new Secret('sec\nret') }],
    ['an empty token', { token: new Secret('') }],
  ])('%s is refused at once', (_case, options) => {
    expect(() => client(options)).toThrow(ApiError);
  });
});

describe('errors', () => {
  test('an error of the API has its code, status, members at fault and request', async () => {
    const errors = [{ pointer: '/webhook/endpoint', message: 'is not a valid URL' }];
    script(problem(422, 'invalid', { detail: 'the body has 1 error', request_id: 'r-1', errors }));
    const error = await failure(client().put('/v1/notifications/5', { secret: 'hidden' }));
    expect(error).toMatchObject({ code: 'invalid', status: 422, errors, requestId: 'r-1' });
    expect(error.message).toBe(
      'PUT /v1/notifications/5: the body has 1 error; /webhook/endpoint: is not a valid URL (422)',
    );
  });

  test('an error of a parameter of the query names the parameter', async () => {
    const errors = [{ pointer: '', parameter: 'monitor_id', message: 'must be an id' }];
    script(problem(400, 'malformed-request', { detail: 'the query is not valid', errors }));
    const error = await failure(client().get('/v1/incidents'));
    expect(error.message).toBe('GET /v1/incidents: the query is not valid; monitor_id must be an id (400)');
  });

  test('a problem with members of other versions is understood', async () => {
    script(problem(409, 'conflict', { errors: 'none', request_id: 7, more: {} }));
    expect(await failure(client().put('/v1/monitors/5', {}))).toMatchObject({ code: 'conflict', errors: [] });
  });

  test('an unknown problem of another version is reported under one common code', async () => {
    script(problem(418, 'brand-new'));
    expect(await failure(client().get('/v1/monitors/5'))).toMatchObject({
      code: 'unknown-problem',
      message: 'GET /v1/monitors/5: it is brand-new (418)',
    });
  });

  test.each([
    ['a page of another server', html(200), 200],
    ['a page that was not found', html(404), 404],
    ['JSON of another service', json(404, { error: 'no' }), 404],
    ['a problem of another service', problem(404, 'not-found', { type: 'about:blank' }), 404],
    [
      'JSON that is none',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end('{"id":');
      },
      200,
    ],
    ['no body where one belongs', (response: ServerResponse) => response.end(), 200],
  ] as const)('%s is not the API', async (_case, answer, status) => {
    script(answer);
    const error = await failure(client().get('/v1/monitors/5'));
    expect(error).toMatchObject({ code: 'not-the-api', status });
    expect(error.message).toContain('not from the svc API');
    expect(server.requests).toHaveLength(1);
  });

  test('a redirect is not followed, and says where it leads', async () => {
    const other = await startReceiver();
    script((response) => response.writeHead(301, { location: `${other.url}/v1/monitors/5?x=1` }).end());
    const error = await failure(client().get('/v1/monitors/5'));
    expect(error).toMatchObject({ code: 'redirected' });
    expect(error.message).toContain(`redirects to ${other.url} (301)`);
    expect(other.requests).toEqual([]);
    await other.close();
  });

  test('an answer without end is cut off', async () => {
    const closed = Promise.withResolvers<void>();
    script((response) => {
      response.socket?.once('close', () => closed.resolve());
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = () => {
        while (!response.destroyed && response.write(' '.repeat(16_384)));
      };
      response.on('drain', more);
      more();
    });
    const error = await failure(client({ limits: { answerBytes: 100_000 } }).get('/v1/monitors/5'));
    expect(error.code).toBe('answer-too-large');
    await closed.promise;
  });

  test('HTTPS to a server that speaks none is not tried again', async () => {
    const one = client({ baseUrl: server.url.replace('http:', 'https:') });
    expect(await failure(one.get('/v1/monitors/5'))).toMatchObject({
      code: 'certificate',
      message: expect.stringMatching(
        /does not speak TLS on this port: if it serves plain HTTP, use http:\/\/$/,
      ),
    });
    expect(retries.seen).toEqual([]);
  });
});

describe('trying again', () => {
  test.each([
    ['500', problem(500, 'internal-error')],
    ['502 of a proxy', html(502)],
    ['503', problem(503, 'unavailable')],
    ['504 of a proxy', html(504)],
    ['429', problem(429, 'rate-limited')],
    ['a reset connection', reset],
    [
      'an answer that breaks off',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
        response.write('{"id":', () => response.socket?.destroy());
      },
    ],
  ] as const)('after %s', async (_case, answer) => {
    script(answer, answer, fine);
    const got = client().get('/v1/monitors/5');
    expect(await retries.number(1)).toMatchObject({ attempts: 1, waitMs: 250 });
    clock.advance(250);
    expect(await retries.number(2)).toMatchObject({ attempts: 2, waitMs: 500 });
    clock.advance(500);
    expect((await got).body).toEqual({ id: '5' });
    expect(clock.pendingTimers).toBe(0);
  });

  test('Retry-After lengthens the wait', async () => {
    script(problem(429, 'rate-limited'), fine);
    server.answerWith((_request, response) => {
      if (server.requests.length === 1) json(429, {}, { 'retry-after': '7' })(response, server.requests[0]!);
      else fine(response, server.requests[0]!);
    });
    const got = client().get('/v1/monitors/5');
    expect(await retries.number(1)).toMatchObject({ waitMs: 7_000 });
    clock.advance(6_999);
    expect(server.requests).toHaveLength(1);
    clock.advance(1);
    expect((await got).status).toBe(200);
  });

  test('Retry-After may be a date, and is obeyed up to a bound', async () => {
    const inFuture = (seconds: number) => new Date(clock.wall() + seconds * 1_000).toUTCString();
    script(
      (response, request) => json(503, {}, { 'retry-after': inFuture(3) })(response, request),
      (response, request) => json(503, {}, { 'retry-after': inFuture(86_400) })(response, request),
      fine,
    );
    const got = client().get('/v1/monitors/5');
    expect(await retries.number(1)).toMatchObject({ waitMs: 3_000 });
    clock.advance(3_000);
    expect(await retries.number(2)).toMatchObject({ waitMs: 60_000 });
    clock.advance(60_000);
    expect((await got).status).toBe(200);
  });

  test('an attempt that hangs is given up after its time', async () => {
    script(() => {}, fine);
    const got = client({ limits: { neverAnsweredMs: 60_000 } }).get('/v1/monitors/5');
    await server.received(1);
    clock.advance(30_000);
    expect(await retries.number(1)).toMatchObject({ reason: 'no complete answer within 30 s' });
    clock.advance(250);
    expect((await got).status).toBe(200);
  });

  test('one key goes with all attempts of a create', async () => {
    script(reset, problem(500, 'internal-error'), json(201, { id: '5' }));
    const got = client().post('/v1/monitors', { name: 'a' }, { idempotencyKey: 'key-1' });
    for (const count of [1, 2]) {
      await retries.number(count);
      clock.advance(10_000);
    }
    expect((await got).status).toBe(201);
    expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual([
      'key-1',
      'key-1',
      'key-1',
    ]);
  });

  test.each([
    ['a reset connection', reset],
    ['500', problem(500, 'internal-error')],
    ['503 of a proxy', html(503)],
    ['504', html(504)],
  ] as const)('not a POST without a key after %s', async (_case, answer) => {
    script(answer);
    await failure(client().request('POST', '/v1/tokens', { body: {} }));
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    ['429', problem(429, 'rate-limited')],
    ['503 of the API itself', problem(503, 'unavailable')],
  ] as const)('a POST without a key after %s, which changed nothing', async (_case, answer) => {
    script(answer, json(201, { id: '5' }));
    const got = client().request('POST', '/v1/tokens', { body: {} });
    await retries.number(1);
    clock.advance(1_000);
    expect((await got).status).toBe(201);
  });

  test('a closed port is tried until the patience with a server that never answered ends', async () => {
    const one = client({ baseUrl: `http://127.0.0.1:${await freePort()}` });
    const got = failure(one.request('POST', '/v1/tokens', { body: {} }));
    // 0.25, 0.5, 1, 2, 4, 5 and 5 s; an eighth wait would end after 20 s.
    for (const count of [1, 2, 3, 4, 5, 6, 7]) clock.advance((await retries.number(count)).waitMs);
    const error = await got;
    expect(error.code).toBe('unreachable');
    expect(error.message).toMatch(/ECONNREFUSED.*tried \d+ times in \d+ s/);
    // Later requests do not wait for the server again.
    clock.advance(10_000);
    expect(await failure(one.get('/v1/monitors/6'))).toMatchObject({ code: 'unreachable' });
    expect(retries.seen).toHaveLength(7);
  });

  test('a rate limit does not use up the patience, only the deadline', async () => {
    script(json(429, {}, { 'retry-after': '60' }));
    const got = failure(client().get('/v1/monitors/5'));
    for (const count of [1, 2, 3, 4]) {
      await retries.number(count);
      clock.advance(60_000);
    }
    // A fifth wait would end at the deadline.
    expect(await got).toMatchObject({ status: 429 });
    expect(server.requests).toHaveLength(5);
  });
});

test('a request without a connection was certainly not carried out, and is tried again', async () => {
  const nowhere = await startBlackhole();
  const stop = new AbortController();
  const got = failure(
    client({ baseUrl: `http://${nowhere.host}:${nowhere.port}` }).post(
      '/v1/monitors',
      {},
      { idempotencyKey: 'k', signal: stop.signal, whenAborted: 'finish' },
    ),
  );
  // The three timers limit the request, the attempt, and the connection of the attempt.
  while (clock.pendingTimers < 3) await new Promise((resolve) => setImmediate(resolve));
  clock.advance(10_000);
  expect(await retries.number(1)).toMatchObject({ attempts: 1, reason: 'no connection within 10 s' });
  stop.abort();
  expect((await got).message).not.toContain('carried out');
  expect(clock.pendingTimers).toBe(0);
  await nowhere.close();
});

describe('an abort or the deadline ends a request:', () => {
  test('a read is given up at once', async () => {
    script(() => {});
    const stop = new AbortController();
    const got = failure(client().get('/v1/monitors/5', { signal: stop.signal, whenAborted: 'finish' }));
    await server.received(1);
    stop.abort();
    expect((await got).code).toBe('aborted');
    expect(clock.pendingTimers).toBe(0);
  });

  test('nothing is sent after an abort', async () => {
    const signal = AbortSignal.abort();
    for (const whenAborted of ['give-up', 'finish'] as const) {
      const error = await failure(client().put('/v1/monitors/5', {}, { signal, whenAborted }));
      expect(error.code).toBe('aborted');
    }
    expect(server.requests).toEqual([]);
  });

  test('a back-off ends when nothing can have happened', async () => {
    script(problem(429, 'rate-limited'));
    const stop = new AbortController();
    const got = failure(
      client().post('/v1/monitors', {}, { idempotencyKey: 'k', signal: stop.signal, whenAborted: 'finish' }),
    );
    await retries.number(1);
    stop.abort();
    expect((await got).code).toBe('aborted');
    expect(server.requests).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  test('a create that is under way is finished', async () => {
    let open: ServerResponse | undefined;
    script((response) => {
      open = response;
    });
    const stop = new AbortController();
    const got = client().post(
      '/v1/monitors',
      {},
      { idempotencyKey: 'k', signal: stop.signal, whenAborted: 'finish' },
    );
    await server.received(1);
    stop.abort();
    json(201, { id: '5' })(open!, server.requests[0]!);
    expect((await got).body).toEqual({ id: '5' });
  });

  test('a create whose answer was lost is asked for after the abort as well', async () => {
    script(reset, json(201, { id: '5' }));
    const stop = new AbortController();
    const got = client().post(
      '/v1/monitors',
      {},
      { idempotencyKey: 'k', signal: stop.signal, whenAborted: 'finish' },
    );
    await retries.number(1);
    stop.abort();
    clock.advance(250);
    expect((await got).body).toEqual({ id: '5' });
  });

  test('a create that may be done stays so after an attempt that certainly did nothing', async () => {
    script(reset, problem(503, 'unavailable'), json(201, { id: '5' }));
    const stop = new AbortController();
    const got = client().post(
      '/v1/monitors',
      {},
      { idempotencyKey: 'k', signal: stop.signal, whenAborted: 'finish' },
    );
    await retries.number(1);
    clock.advance(250);
    await retries.number(2);
    stop.abort();
    clock.advance(500);
    expect((await got).body).toEqual({ id: '5' });
  });

  test('a create under way has half a minute left after the abort', async () => {
    script(() => {});
    const stop = new AbortController();
    const got = failure(
      client({ limits: { attemptMs: 200_000 } }).post(
        '/v1/monitors',
        {},
        { idempotencyKey: 'k', signal: stop.signal, whenAborted: 'finish' },
      ),
    );
    await server.received(1);
    stop.abort();
    clock.advance(30_000);
    const error = await got;
    expect(error.code).toBe('aborted');
    expect(error.message).toMatch(
      /may have been carried out .*: check whether the object exists before you try again/,
    );
    expect(clock.pendingTimers).toBe(0);
  });

  test('the deadline bounds everything', async () => {
    script(() => {});
    const got = failure(client().get('/v1/monitors/5', { deadlineMs: 1_000 }));
    await server.received(1);
    clock.advance(1_000);
    expect((await got).code).toBe('timeout');
  });

  test.each([-1, 0, 1])(
    'the error is the same when the timer of the attempt ends by %i ms later',
    async (ms) => {
      script(() => {});
      const timers: Clock = {
        wall: () => clock.wall(),
        monotonic: () => clock.monotonic(),
        every: (intervalMs, task) => clock.every(intervalMs, task),
        after: (delayMs, task) => clock.after(delayMs + (clock.pendingTimers === 0 ? 0 : ms), task),
      };
      const got = failure(client({ clock: timers }).get('/v1/monitors/5', { deadlineMs: 1_000 }));
      await server.received(1);
      clock.advance(999);
      clock.advance(1);
      const error = await got;
      expect([error.code, error.message]).toEqual([
        'timeout',
        expect.stringContaining(`cannot get an answer from ${server.url}: no complete answer within 1 s`),
      ]);
    },
  );
});

describe('lists', () => {
  /** Serves a list of the API with these ids. A test may change the ids while the list is read. */
  function serveList(ids: number[]): void {
    server.answerWith((request, response) => {
      const query = new URL(request.path, server.url).searchParams;
      const offset = Number(query.get('offset'));
      const data = ids.slice(offset, offset + Number(query.get('limit'))).map((id) => ({ id: String(id) }));
      json(200, { data, total: ids.length, limit: 100, offset })(response, request);
    });
  }
  const upTo = (count: number) => Array.from({ length: count }, (_none, index) => index + 1);

  test.each([0, 1, 2, 99, 100, 101, 198, 199, 200, 201, 1_000])('of %i objects', async (count) => {
    serveList(upTo(count));
    const listed = await all(client().list('/v1/monitors', { type: 'http' }));
    expect(listed.map(({ id }) => Number(id))).toEqual(upTo(count));
    expect(server.requests[0]?.path).toBe('/v1/monitors?type=http&limit=100&offset=0');
  });

  test('no remaining object is missed when others vanish meanwhile', async () => {
    const ids = upTo(500);
    serveList(ids);
    const listed: number[] = [];
    for await (const { id } of client().list('/v1/monitors')) {
      listed.push(Number(id));
      // All objects that were read so far are deleted, and so is one object that was not read yet.
      if (listed.length === 150) ids.splice(0, 150);
      if (listed.length === 300) ids.splice(ids.indexOf(450), 1);
    }
    expect(listed).toEqual(upTo(500).filter((id) => id !== 450));
  });

  test('a list that differs at each request is given up', async () => {
    let lastId = 0;
    server.answerWith((request, response) => {
      lastId += 1_000;
      const data = upTo(100).map((index) => ({ id: String(lastId + index) }));
      json(200, { data, total: 500 })(response, request);
    });
    expect(await failure(all(client().list('/v1/monitors')))).toMatchObject({ code: 'unsettled' });
  });

  test('an answer that is no list is not from the API', async () => {
    script(json(200, { items: [] }));
    expect(await failure(all(client().list('/v1/monitors')))).toMatchObject({
      code: 'not-the-api',
    });
  });

  test('ends with its signal', async () => {
    serveList(upTo(500));
    const stop = new AbortController();
    const reading = (async () => {
      for await (const { id } of client().list('/v1/monitors', {}, stop.signal)) {
        if (id === '50') stop.abort();
      }
    })();
    expect(await failure(reading)).toMatchObject({ code: 'aborted' });
    expect(server.requests).toHaveLength(1);
  });
});

test('a connection the server closed while idle does not fail the next request', async () => {
  script((response, request) => {
    response.setHeader('connection', 'close');
    fine(response, request);
  });
  const one = client();
  await one.get('/v1/monitors/5');
  await one.get('/v1/monitors/5');
  expect(server.requests).toHaveLength(2);
});
