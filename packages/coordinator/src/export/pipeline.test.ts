import { once } from 'node:events';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import {
  closeAll,
  closing,
  collected,
  INTERVAL_MS,
  pipelineTo,
  postsUnderWay,
  receive,
} from '../../../../test/support/coordinator/pipeline-to.ts';
import { metricsOf } from '../../../../test/support/otlp-receiver.ts';

const HOUR_MS = 3_600_000;

afterEach(closeAll);

describe('an endpoint that works', () => {
  test('gets gzip with its headers, and its state says so', async () => {
    const receiver = await receive();
    const { pipeline, clock } = pipelineTo(receiver.url);
    await expect.poll(() => pipeline.state.taken).toBe(1);
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
    await expect.poll(() => pipeline.state.taken).toBe(2);
    expect(receiver.errors).toEqual([]);
  });

  test('gets many requests one after the other, none made long before it is sent', async () => {
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
    const { pipeline, collected } = pipelineTo(receiver.url, { requests: 20 });
    await expect
      .poll(() => {
        expect(collected.length - receiver.requests.length).toBeLessThanOrEqual(3);
        return pipeline.state.taken;
      })
      .toBe(20);
    expect(receiver.requests).toHaveLength(20);
  });

  test('gets no compression where none is wanted', async () => {
    const receiver = await receive();
    const { pipeline } = pipelineTo(receiver.url, { isCompressed: false });
    await expect.poll(() => pipeline.state.taken).toBe(1);
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
    await expect.poll(() => pipeline.state.taken).toBe(3);
    expect(pipeline.state).toMatchObject({ encoding: 'protobuf', dropped: 0, isFailing: false });
    // Nor did it fail between the two encodings.
    expect(failing).toEqual(Array(4).fill(false));
    const before = receiver.requests.length;
    clock.advance(INTERVAL_MS);
    await expect.poll(() => pipeline.state.taken).toBe(6);
    const types = receiver.requests.slice(before).map(({ headers }) => headers['content-type']);
    expect(types).toEqual(Array(3).fill('application/x-protobuf'));
  });

  test('and protobuf too is asked each interval anew, once in each', async () => {
    const receiver = await receive();
    const failing: boolean[] = [];
    receiver.intercept = (_message, response) => {
      failing.push(pipeline.state.isFailing);
      response.writeHead(400).end('no such tenant');
      return true;
    };
    const { pipeline, clock } = pipelineTo(receiver.url);
    await expect.poll(() => pipeline.state.dropped).toBe(1);
    expect(receiver.requests).toHaveLength(2);
    expect(pipeline.state).toMatchObject({ isFailing: true, taken: 0, bufferedRequests: 0 });
    expect(pipeline.state.lastError?.message).toBe('answered 400: no such tenant');
    clock.advance(INTERVAL_MS);
    await expect.poll(() => pipeline.state.dropped).toBe(2);
    expect(receiver.requests).toHaveLength(4);
    // From the second refusal on, without a pause.
    expect(failing).toEqual([false, false, true, true]);
  });
});

describe('an endpoint that is down', () => {
  test('loses nothing while it is away for some intervals', async () => {
    const receiver = await receive();
    await receiver.close();
    const { pipeline, clock, collected: forms } = pipelineTo(receiver.url);
    for (let intervals = 1; intervals <= 3; intervals += 1) {
      await collected(() => pipeline.state.bufferedRequests, intervals);
      clock.advance(INTERVAL_MS);
    }
    await collected(() => pipeline.state.bufferedRequests, 4);
    // Nothing but the first request is encoded before it can be sent.
    expect(forms).toEqual(['json', 'log', 'log', 'log']);
    expect(pipeline.state).toMatchObject({ isFailing: true, taken: 0, dropped: 0 });
    expect(pipeline.state.lastError?.message).toContain('ECONNREFUSED');
    await receiver.restart();
    const waiting = () => {
      // No post that is under way is given up.
      if (postsUnderWay() === 0) clock.advance(2_000);
      return pipeline.state.bufferedRequests;
    };
    await expect.poll(waiting, { interval: 20 }).toBe(0);
    expect(pipeline.state).toMatchObject({ isFailing: false, dropped: 0 });
    // Each point has the time at which it was collected.
    const times = receiver.requests.map(({ request }) => {
      const [metric] = request === null ? [] : metricsOf(request);
      return Number(metric?.gauge?.dataPoints[0]?.timeUnixNano) / 1e6;
    });
    const [first = 0] = times;
    expect(times.slice(0, 4).map((time) => Math.round(time - first))).toEqual(
      [0, 1, 2, 3].map((intervals) => intervals * INTERVAL_MS),
    );
    expect(times.toSorted()).toEqual(times);
    expect(pipeline.state.taken).toBe(receiver.requests.length);
  });

  test('gets what has waited in the encoding that it takes when it is back', async () => {
    const receiver = await receive();
    await receiver.close();
    const { pipeline, clock, collected: forms } = pipelineTo(receiver.url, { requests: 2 });
    await collected(() => pipeline.state.bufferedRequests, 2);
    clock.advance(INTERVAL_MS);
    await collected(() => pipeline.state.bufferedRequests, 4);
    receiver.intercept = ({ headers }, response) => {
      const isRefused = headers['content-type'] === 'application/json';
      if (isRefused) response.writeHead(415).end();
      return isRefused;
    };
    await receiver.restart();
    const waiting = () => {
      if (postsUnderWay() === 0) clock.advance(2_000);
      return pipeline.state.bufferedRequests;
    };
    await expect.poll(waiting, { interval: 20 }).toBe(0);
    // The first two are collected again, and come after those that have waited since.
    expect(forms).toEqual(['json', 'json', 'log', 'log', 'protobuf', 'protobuf']);
    expect(pipeline.state).toMatchObject({ encoding: 'protobuf', taken: 4, dropped: 0, isFailing: false });
    expect(receiver.errors).toEqual([]);
  });

  test.each([
    ['two minutes is asked again then', 120, 119_000],
    ['a day is asked again after an hour', 86_400, 3_599_000],
  ])('and names %s, not before', async (_, retryAfterS, justBeforeMs) => {
    const receiver = await receive();
    let isBusy = true;
    receiver.intercept = (_message, response) => {
      if (isBusy) response.writeHead(429, { 'retry-after': `${retryAfterS}` }).end();
      return isBusy;
    };
    const { pipeline, clock } = pipelineTo(receiver.url);
    await collected(() => pipeline.state.isFailing, true);
    isBusy = false;
    clock.advance(justBeforeMs);
    await collected(() => pipeline.state.bufferedRequests, 2);
    expect(receiver.requests).toHaveLength(1);
    clock.advance(2_000);
    await expect.poll(() => pipeline.state.taken).toBe(3);
  });

  test('is given the newest hour when it comes back', async () => {
    const receiver = await receive();
    await receiver.close();
    const { pipeline, clock } = pipelineTo(receiver.url);
    for (let minute = 1; minute <= 70; minute += 1) {
      await collected(() => pipeline.state.bufferedRequests + pipeline.state.dropped, minute);
      clock.advance(INTERVAL_MS);
    }
    await collected(() => pipeline.state.dropped + pipeline.state.bufferedRequests, 71);
    expect(pipeline.state.bufferedRequests).toBe(61);
  });
});

describe('an endpoint that is hostile', () => {
  test('and rejects more points than it was sent ruins no sum', async () => {
    const receiver = await receive();
    receiver.intercept = (message, response) => {
      message.resume();
      response.end(JSON.stringify({ partialSuccess: { rejectedDataPoints: Number.MAX_SAFE_INTEGER } }));
      return true;
    };
    const { pipeline } = pipelineTo(receiver.url);
    await expect.poll(() => pipeline.state).toMatchObject({ taken: 0, rejected: 1 });
  });

  test('and takes a request that was dropped meanwhile has it counted once', async () => {
    const receiver = await receive();
    const { promise: askedAgain, resolve: onAskedAgain } = Promise.withResolvers<() => void>();
    receiver.intercept = (_message, response) => {
      receiver.intercept = (_again, later) => {
        receiver.intercept = () => false;
        onAskedAgain(() => later.writeHead(200).end());
        return true;
      };
      response.writeHead(503).end();
      return true;
    };
    const { pipeline, clock, collected: made } = pipelineTo(receiver.url, { timeoutMs: 2 * HOUR_MS });
    await collected(() => pipeline.state.isFailing, true);
    clock.advance(2_000);
    const answer = await askedAgain;
    clock.advance(HOUR_MS);
    await collected(() => pipeline.state.bufferedRequests, 2, 1);
    // The first is too old beside what is collected now.
    clock.advance(INTERVAL_MS);
    await expect.poll(() => pipeline.state.dropped).toBe(1);
    answer();
    await expect.poll(() => pipeline.state.bufferedPoints).toBe(0);
    expect(pipeline.state.taken + pipeline.state.dropped).toBe(made.length);
  });

  test('and is left counts as dropped what waits for it', async () => {
    const receiver = await receive();
    receiver.intercept = (_message, response) => {
      response.writeHead(503).end();
      return true;
    };
    const { pipeline } = pipelineTo(receiver.url, { requests: 3 });
    await expect.poll(() => pipeline.state).toMatchObject({ isFailing: true, bufferedPoints: 3 });
    pipeline.stop();
    expect(pipeline.state).toMatchObject({ taken: 0, dropped: 3, bufferedPoints: 0, bufferedBytes: 0 });
  });

  test('and redirects is not followed', async () => {
    const [receiver, elsewhere] = [await receive(), await receive()];
    receiver.intercept = (_message, response) => {
      response.writeHead(307, { location: `${elsewhere.url}/v1/metrics` }).end();
      return true;
    };
    const { pipeline } = pipelineTo(receiver.url);
    await expect.poll(() => pipeline.state.dropped).toBe(1);
    expect(pipeline.state.lastError?.message).toContain('redirects are not followed');
    expect(elsewhere.requests).toEqual([]);
  });

  test('and answers without end is read so far and no further', async () => {
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
    await expect.poll(() => pipeline.state.taken).toBe(1);
  });

  test('and never answers is given up', async () => {
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

  test('and repeats a secret does not get it into its state', async () => {
    const receiver = await receive();
    receiver.intercept = ({ headers }, response) => {
      response.writeHead(401).end(`bad ${headers.authorization}`);
      return true;
    };
    const { pipeline } = pipelineTo(receiver.url);
    await expect.poll(() => pipeline.state.dropped).toBe(1);
    expect(pipeline.state.lastError?.message).toBe('answered 401: bad ********');
  });

  test('and repeats a secret beside the points that it rejects does not get it into its state', async () => {
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

  test('and takes only a part of the points is counted so', async () => {
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
    expect(pipeline.state).toMatchObject({ taken: 0, dropped: 0, isFailing: false });
    expect(pipeline.state.lastError?.message).toBe('1 points were rejected: too many series');
  });

  test('and is in a private network is not reached', async () => {
    const receiver = await receive();
    const { pipeline } = pipelineTo(receiver.url, { allow: [] });
    await expect.poll(() => pipeline.state.dropped).toBe(1);
    expect(pipeline.state.lastError?.message).toContain('SVC_CHANNEL_EGRESS_ALLOW');
    expect(receiver.requests).toEqual([]);
  });
});

test('a test tells what the endpoint answers to each encoding, and changes nothing', async () => {
  const receiver = await receive();
  receiver.intercept = ({ headers }, response) => {
    if (headers['content-type'] !== 'application/json') return false;
    response.writeHead(415).end();
    return true;
  };
  const { pipeline } = pipelineTo(receiver.url);
  await expect.poll(() => pipeline.state.taken).toBe(1);
  const answers = await pipeline.test((encoding) => {
    expect(encoding).toBe('protobuf');
    return { body: new Uint8Array(), points: 0 };
  });
  expect(answers).toEqual([{ encoding: 'protobuf', verdict: { is: 'taken', rejected: 0, error: null } }]);
  expect(pipeline.state.taken).toBe(1);
});
