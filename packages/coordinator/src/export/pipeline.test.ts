import { once } from 'node:events';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import {
  closeAll,
  closing,
  INTERVAL_MS,
  POINTS,
  pipelineTo,
  receive,
} from '../../../../test/support/coordinator/pipeline-to.ts';
import type { FakeClock } from '../../../../test/support/fake-clock.ts';
import { metricsOf, type OtlpReceiver } from '../../../../test/support/otlp-receiver.ts';
import { drip, startRawTarget } from '../../../../test/support/raw-target.ts';

afterEach(closeAll);

describe('an endpoint that works', () => {
  test('gets gzip with its headers, and its state says so', async () => {
    const receiver = await receive();
    const { pipeline, clock } = pipelineTo(receiver.url);
    await expect.poll(() => pipeline.state.taken).toBe(POINTS);
    expect(receiver.requests[0]).toMatchObject({
      path: '/v1/metrics',
      headers: {
        authorization: 'Bearer secret-token',
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
    });
    expect(pipeline.state).toMatchObject({ lastSuccessAt: clock.wall(), lastError: null, isFailing: false });
    clock.advance(INTERVAL_MS);
    await expect.poll(() => pipeline.state.taken).toBe(2 * POINTS);
    expect(receiver.errors).toEqual([]);
  });

  test('gets many requests one after the other, each made shortly before it is sent', async () => {
    const receiver = await receive();
    let open = 0;
    receiver.intercept = (message, response) => {
      open += 1;
      expect(open).toBe(1);
      message.resume().once('end', () => {
        open -= 1;
        response.end();
      });
      return true;
    };
    const { pipeline, made } = pipelineTo(receiver.url, { requests: 20 });
    await expect
      .poll(() => {
        expect(made.length - receiver.requests.length).toBeLessThanOrEqual(1);
        return pipeline.state.taken;
      })
      .toBe(20 * POINTS);
    expect(receiver.requests).toHaveLength(20);
  });

  test('gets no compression when none is set', async () => {
    const receiver = await receive();
    const { pipeline } = pipelineTo(receiver.url, { isCompressed: false });
    await expect.poll(() => pipeline.state.taken).toBe(POINTS);
    expect(receiver.requests[0]?.headers['content-encoding']).toBeUndefined();
  });
});

describe('an endpoint that refuses JSON', () => {
  test.each([400, 415])('with %i gets protobuf at once, and from then on', async (statusCode) => {
    const receiver = await receive();
    const failing: boolean[] = [];
    receiver.intercept = ({ headers }, response) => {
      failing.push(pipeline.state.isFailing);
      if (headers['content-type'] !== 'application/json') return false;
      response.writeHead(statusCode).end();
      return true;
    };
    const { pipeline, clock } = pipelineTo(receiver.url, { requests: 3 });
    await expect.poll(() => pipeline.state.taken).toBe(3 * POINTS);
    expect(pipeline.state).toMatchObject({ encoding: 'protobuf', dropped: 0, isFailing: false });
    // The pipeline did not count as failing between the two encodings.
    expect(failing).toEqual(Array(4).fill(false));
    const before = receiver.requests.length;
    clock.advance(INTERVAL_MS);
    await expect.poll(() => pipeline.state.taken).toBe(6 * POINTS);
    const types = receiver.requests.slice(before).map(({ headers }) => headers['content-type']);
    expect(types).toEqual(Array(3).fill('application/x-protobuf'));
  });

  test('and protobuf too gets one request of each encoding in every interval', async () => {
    const receiver = await receive();
    const failing: boolean[] = [];
    receiver.intercept = (_message, response) => {
      failing.push(pipeline.state.isFailing);
      response.writeHead(400).end('no such tenant');
      return true;
    };
    const { pipeline, clock } = pipelineTo(receiver.url);
    await expect.poll(() => pipeline.state.dropped).toBe(POINTS);
    expect(receiver.requests).toHaveLength(2);
    expect(pipeline.state).toMatchObject({ isFailing: true, taken: 0, bufferedRequests: 0 });
    expect(pipeline.state.lastError?.message).toBe('answered 400: no such tenant');
    clock.advance(INTERVAL_MS);
    await expect.poll(() => pipeline.state.dropped).toBe(2 * POINTS);
    expect(receiver.requests).toHaveLength(4);
    // There is no pause after the second refusal.
    expect(failing).toEqual([false, false, true, true]);
  });
});

describe('an endpoint that is down', () => {
  /** Advances the clock while no request is in progress, until the condition holds. */
  async function passing(clock: FakeClock, ms: number, isSo: () => boolean): Promise<void> {
    await expect
      .poll(
        () => {
          if (clock.pendingTimers === 1) clock.advance(ms);
          return isSo();
        },
        { interval: 10 },
      )
      .toBe(true);
  }

  const madeAt = ({ requests }: OtlpReceiver) =>
    requests.map(({ request }) => {
      const [metric] = request === null ? [] : metricsOf(request);
      return Number(metric?.gauge?.dataPoints[0]?.timeUnixNano) / 1e6;
    });

  test('gets only the newest request when it comes back, and the other monitors after it', async () => {
    const receiver = await receive();
    await receiver.close();
    const { pipeline, clock, made } = pipelineTo(receiver.url, { requests: 2 });
    await passing(clock, 1_000, () => made.length === 4);
    // All requests are for the same monitor. Until its request is
    // taken, no request is made for another monitor.
    expect(made).toEqual([1, 1, 1, 1]);
    expect(pipeline.state).toMatchObject({
      isFailing: true,
      taken: 0,
      dropped: 3 * POINTS,
      bufferedRequests: 1,
      bufferedPoints: POINTS,
    });
    expect(pipeline.state.bufferedBytes).toBeGreaterThan(0);
    expect(pipeline.state.lastError?.message).toContain('ECONNREFUSED');
    const newest = clock.wall();
    await receiver.restart();
    await passing(clock, 1_000, () => pipeline.state.taken === 2 * POINTS);
    const first = made.indexOf(2);
    expect(made.slice(0, first)).toEqual(Array(first).fill(1));
    expect(
      madeAt(receiver)
        .slice(0, 2)
        .map((at) => at >= newest - INTERVAL_MS),
    ).toEqual([true, true]);
    expect(pipeline.state).toMatchObject({ isFailing: false, dropped: (first - 1) * POINTS });
  });

  test('gets the waiting request in the encoding that it takes when it comes back', async () => {
    const receiver = await receive();
    await receiver.close();
    const { pipeline, clock, made } = pipelineTo(receiver.url);
    await passing(clock, 1_000, () => made.length === 2);
    receiver.intercept = ({ headers }, response) => {
      const isRefused = headers['content-type'] === 'application/json';
      if (isRefused) response.writeHead(415).end();
      return isRefused;
    };
    await receiver.restart();
    await passing(clock, 1_000, () => pipeline.state.taken === POINTS);
    expect(pipeline.state).toMatchObject({ encoding: 'protobuf', isFailing: false });
    expect(receiver.errors).toEqual([]);
  });

  test.each([
    ['two minutes', 'gets the next request then', 120, 119_000],
    ['a day', 'gets the next request after an hour', 86_400, 3_599_000],
  ])('and asks to wait for %s %s', async (_wait, _next, retryAfterS, justBeforeMs) => {
    const receiver = await receive();
    let isBusy = true;
    receiver.intercept = (_message, response) => {
      if (isBusy) response.writeHead(429, { 'retry-after': `${retryAfterS}` }).end();
      return isBusy;
    };
    const { pipeline, clock } = pipelineTo(receiver.url);
    await expect.poll(() => [pipeline.state.isFailing, clock.pendingTimers]).toEqual([true, 1]);
    isBusy = false;
    await clock.advanceSettling(justBeforeMs);
    expect(receiver.requests).toHaveLength(1);
    clock.advance(2_000);
    await expect.poll(() => pipeline.state.taken).toBe(POINTS);
    // The points have the present instant.
    expect(madeAt(receiver).at(-1)).toBe(clock.wall());
  });

  test('is not asked again at once, even if it asks for that', async () => {
    const receiver = await receive();
    receiver.intercept = (_message, response) => {
      response.writeHead(503, { 'retry-after': '0' }).end();
      return true;
    };
    const { pipeline, clock } = pipelineTo(receiver.url);
    await expect.poll(() => [pipeline.state.isFailing, clock.pendingTimers]).toEqual([true, 1]);
    await clock.advanceSettling(700);
    expect(receiver.requests).toHaveLength(1);
  });
});

test('an interval in which the data cannot be read is followed by the next interval', async () => {
  const receiver = await receive();
  const { pipeline, clock, errors, parts } = pipelineTo(receiver.url);
  await expect.poll(() => pipeline.state.taken).toBe(POINTS);
  const { read } = parts;
  Object.assign(parts, { read: () => Promise.reject(new Error('the disk is gone')) });
  await clock.advanceSettling(INTERVAL_MS);
  await expect.poll(() => errors).toHaveLength(1);
  Object.assign(parts, { read });
  clock.advance(INTERVAL_MS);
  await expect.poll(() => pipeline.state.taken).toBe(2 * POINTS);
});

describe('an endpoint that is hostile', () => {
  test('and rejects more points than were sent does not spoil the counts', async () => {
    const receiver = await receive();
    receiver.intercept = (message, response) => {
      message.resume();
      response.end(JSON.stringify({ partialSuccess: { rejectedDataPoints: Number.MAX_SAFE_INTEGER } }));
      return true;
    };
    const { pipeline } = pipelineTo(receiver.url);
    await expect.poll(() => pipeline.state).toMatchObject({ taken: 0, rejected: POINTS });
  });

  test('and loses its last monitor drops and counts the waiting request', async () => {
    const receiver = await receive();
    receiver.intercept = (_message, response) => {
      response.writeHead(503).end();
      return true;
    };
    const { pipeline } = pipelineTo(receiver.url, { requests: 3 });
    await expect.poll(() => pipeline.state).toMatchObject({ isFailing: true, bufferedPoints: POINTS });
    pipeline.stop();
    expect(pipeline.state).toMatchObject({ taken: 0, dropped: POINTS, bufferedPoints: 0, bufferedBytes: 0 });
  });

  test('and redirects is not followed', async () => {
    const [receiver, elsewhere] = [await receive(), await receive()];
    receiver.intercept = (_message, response) => {
      response.writeHead(307, { location: `${elsewhere.url}/v1/metrics` }).end();
      return true;
    };
    const { pipeline } = pipelineTo(receiver.url);
    await expect.poll(() => pipeline.state.dropped).toBe(POINTS);
    expect(pipeline.state.lastError?.message).toContain('redirects are not followed');
    expect(elsewhere.requests).toEqual([]);
  });

  test('and answers without end is read up to a bound', async () => {
    const receiver = await receive();
    receiver.intercept = (_message, response) => {
      const more = () => {
        while (response.write(Buffer.alloc(65_536, 97)));
      };
      response.on('drain', more);
      more();
      return true;
    };
    const { pipeline } = pipelineTo(receiver.url);
    await expect.poll(() => pipeline.state.taken).toBe(POINTS);
  });

  test('and never answers is given up after the time limit', async () => {
    const server = createSocketServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => server.close());
    const connected = once(server, 'connection');
    const { pipeline, clock } = pipelineTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const [socket] = await connected;
    await once(socket, 'data');
    clock.advance(15_000);
    await expect.poll(() => pipeline.state.lastError?.message).toBe('no answer within 15 s');
    expect(pipeline.state).toMatchObject({ bufferedRequests: 1, dropped: 0 });
    socket.destroy();
  });

  test('and repeats a secret does not bring it into the state', async () => {
    const receiver = await receive();
    receiver.intercept = ({ headers }, response) => {
      response.writeHead(401).end(`bad ${headers.authorization}`);
      return true;
    };
    const { pipeline } = pipelineTo(receiver.url);
    await expect.poll(() => pipeline.state.dropped).toBe(POINTS);
    expect(pipeline.state.lastError?.message).toBe('answered 401: bad ********');
  });

  test('and repeats a secret in a partial success does not bring it into the state', async () => {
    const receiver = await receive();
    receiver.intercept = (message, response) => {
      const errorMessage = `no room for ${message.headers.authorization}`;
      message
        .resume()
        .once('end', () =>
          response.end(JSON.stringify({ partialSuccess: { rejectedDataPoints: '1', errorMessage } })),
        );
      return true;
    };
    const { pipeline } = pipelineTo(receiver.url);
    await expect.poll(() => pipeline.state.rejected).toBe(1);
    expect(pipeline.state.lastError?.message).toBe('1 points were rejected: no room for ********');
  });

  test('and takes only a part of the points is counted accordingly', async () => {
    const receiver = await receive();
    receiver.intercept = (message, response) => {
      message
        .resume()
        .once('end', () =>
          response.end('{"partialSuccess":{"rejectedDataPoints":"1","errorMessage":"too many series"}}'),
        );
      return true;
    };
    const { pipeline } = pipelineTo(receiver.url);
    await expect.poll(() => pipeline.state.rejected).toBe(1);
    expect(pipeline.state).toMatchObject({ taken: POINTS - 1, dropped: 0, isFailing: false });
    expect(pipeline.state.lastError?.message).toBe('1 points were rejected: too many series');
  });

  test('and is in a private network is not reached', async () => {
    const receiver = await receive();
    const { pipeline } = pipelineTo(receiver.url, { allow: [] });
    await expect.poll(() => pipeline.state.dropped).toBe(POINTS);
    expect(pipeline.state.lastError?.message).toContain('SVC_CHANNEL_EGRESS_ALLOW');
    expect(receiver.requests).toEqual([]);
  });
});

test('a test returns the answer to each encoding, and changes no state', async () => {
  const receiver = await receive();
  receiver.intercept = ({ headers }, response) => {
    if (headers['content-type'] !== 'application/json') return false;
    response.writeHead(415).end();
    return true;
  };
  const { pipeline } = pipelineTo(receiver.url);
  await expect.poll(() => pipeline.state.taken).toBe(POINTS);
  const answers = await pipeline.testNow([1]);
  expect(answers).toEqual([
    { encoding: 'protobuf', points: POINTS, verdict: { is: 'taken', rejected: 0, error: null } },
  ]);
  expect(pipeline.state.taken).toBe(POINTS);
});

test('an answer that comes byte by byte does not extend the time limit', async () => {
  const dripping = await startRawTarget(drip('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n', 'a', 5));
  closing.push(() => dripping.close());
  const { pipeline, clock } = pipelineTo(dripping.url);
  await expect.poll(() => dripping.requests.length).toBe(1);
  await clock.advanceSettling(14_000);
  expect(pipeline.state).toMatchObject({ taken: 0, bufferedRequests: 1 });
  await clock.advanceSettling(1_000);
  // The status line has arrived.
  await expect.poll(() => pipeline.state).toMatchObject({ taken: POINTS, bufferedRequests: 0 });
});
