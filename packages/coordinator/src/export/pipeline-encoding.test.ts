import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import {
  closeAll,
  collected,
  INTERVAL_MS,
  pipelineTo,
  receive,
} from '../../../../test/support/coordinator/pipeline-to.ts';
import { metricsOf, type OtlpReceiver } from '../../../../test/support/otlp-receiver.ts';

afterEach(closeAll);

const json = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'application/json' });
const protobuf = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'application/x-protobuf' });

/** Requests in protobuf are answered by it; the first one has no points. */
function answersProtobuf(receiver: OtlpReceiver, answer: (nth: number, response: ServerResponse) => boolean) {
  let asked = 0;
  receiver.intercept = ({ headers }, response) => {
    if (headers['content-type'] !== 'application/x-protobuf') return false;
    asked += 1;
    return answer(asked, response);
  };
}

/** Encoding and number of points of each request that was read. */
const readBy = (receiver: OtlpReceiver) =>
  receiver.requests.map(({ headers, request }) => {
    const points = request === null ? null : metricsOf(request).length;
    return [headers['content-type']?.replace(/.*[/-]/, ''), points];
  });

describe('an endpoint that nobody has set an encoding for', () => {
  test('is asked for protobuf once it has taken JSON, and gets it from the next collection on', async () => {
    const receiver = await receive();
    const { pipeline, clock } = pipelineTo(receiver.url, { isEncodingOpen: true, requests: 2 });
    await collected(() => receiver.requests.length, 3);
    expect(readBy(receiver).sort()).toEqual([
      ['json', 1],
      ['json', 1],
      ['protobuf', 0],
    ]);
    expect(pipeline.state).toMatchObject({ encoding: 'json', taken: 2 });
    for (let interval = 1; interval <= 2; interval += 1) {
      clock.advance(INTERVAL_MS);
      await collected(() => pipeline.state.taken, 2 + 2 * interval);
    }
    expect(readBy(receiver).slice(3)).toEqual(Array(4).fill(['protobuf', 1]));
    expect(pipeline.state).toMatchObject({ encoding: 'protobuf', dropped: 0, rejected: 0, lastError: null });
    expect(receiver.errors).toEqual([]);
  });

  test.each([
    ['refuses it', (response: ServerResponse) => response.writeHead(415).end()],
    ['takes whatever comes', (response: ServerResponse) => response.writeHead(200).end()],
    ['answers it as JSON', (response: ServerResponse) => json(response).end('{}')],
    ['fails', (response: ServerResponse) => response.writeHead(500).end()],
    ['redirects', (response: ServerResponse) => response.writeHead(307, { location: '/' }).end()],
    [
      'complains of it',
      (response: ServerResponse) => protobuf(response).end(Buffer.from([10, 3, 18, 1, 97])),
    ],
  ])('and that %s gets JSON for good', async (_does, answer) => {
    const receiver = await receive();
    answersProtobuf(receiver, (_nth, response) => {
      answer(response);
      return true;
    });
    const { pipeline, clock } = pipelineTo(receiver.url, { isEncodingOpen: true });
    await collected(() => receiver.requests.length, 2);
    for (let interval = 2; interval <= 4; interval += 1) {
      clock.advance(INTERVAL_MS);
      await collected(() => pipeline.state.taken, interval);
    }
    expect(readBy(receiver).slice(2)).toEqual(Array(3).fill(['json', 1]));
    expect(pipeline.state).toMatchObject({ encoding: 'json', dropped: 0, lastError: null, isFailing: false });
  });

  test('and that is away when it is asked is asked again, three times in all', async () => {
    const receiver = await receive();
    answersProtobuf(receiver, (_nth, response) => {
      response.writeHead(503).end();
      return true;
    });
    const { pipeline, clock } = pipelineTo(receiver.url, { isEncodingOpen: true });
    for (let interval = 1; interval <= 5; interval += 1) {
      await collected(() => receiver.requests.length, interval + Math.min(3, interval));
      clock.advance(INTERVAL_MS);
    }
    expect(pipeline.state).toMatchObject({ encoding: 'json', dropped: 0, lastError: null });
  });

  test.each([400, 404, 500])('and that agrees and answers %i to points gets them as JSON', async (code) => {
    const receiver = await receive();
    answersProtobuf(receiver, (nth, response) => {
      if (nth > 1) response.writeHead(code).end();
      return nth > 1;
    });
    const failing: boolean[] = [];
    const { intercept } = receiver;
    receiver.intercept = (message, response) => {
      failing.push(pipeline.state.isFailing);
      return intercept(message, response);
    };
    const { pipeline, clock } = pipelineTo(receiver.url, { isEncodingOpen: true, requests: 3 });
    await collected(() => receiver.requests.length, 4);
    for (let interval = 2; interval <= 3; interval += 1) {
      clock.advance(INTERVAL_MS);
      await collected(() => pipeline.state.taken, 3 * interval);
    }
    expect(readBy(receiver).slice(4)).toEqual([['protobuf', null], ...Array(6).fill(['json', 1])]);
    expect(failing).not.toContain(true);
    expect(pipeline.state).toMatchObject({ encoding: 'json', dropped: 0, isFailing: false });
  });

  test('and that is away at the first points in protobuf gets them as JSON, and is asked again', async () => {
    const receiver = await receive();
    answersProtobuf(receiver, (nth, response) => {
      if (nth === 2) response.writeHead(503).end();
      return nth === 2;
    });
    const { pipeline, clock } = pipelineTo(receiver.url, { isEncodingOpen: true });
    await collected(() => receiver.requests.length, 2);
    clock.advance(INTERVAL_MS);
    await collected(() => pipeline.state.isFailing, true);
    expect(pipeline.state).toMatchObject({ encoding: 'json', bufferedRequests: 1 });
    clock.advance(2_000);
    await collected(() => receiver.requests.length, 5);
    expect(pipeline.state).toMatchObject({ taken: 2, dropped: 0 });
    clock.advance(INTERVAL_MS);
    await collected(() => pipeline.state.taken, 3);
    expect(pipeline.state.encoding).toBe('protobuf');
    expect(readBy(receiver)).toEqual([
      ['json', 1],
      ['protobuf', 0],
      ['protobuf', null],
      ['json', 1],
      ['protobuf', 0],
      ['protobuf', 1],
    ]);
  });

  test('and that rejects some of the first points in protobuf gets JSON for good', async () => {
    const receiver = await receive();
    answersProtobuf(receiver, (nth, response) => {
      if (nth > 1) protobuf(response).end(Buffer.from([10, 2, 8, 1]));
      return nth > 1;
    });
    const { pipeline, clock } = pipelineTo(receiver.url, { isEncodingOpen: true });
    await collected(() => receiver.requests.length, 2);
    clock.advance(INTERVAL_MS);
    await collected(() => pipeline.state.rejected, 1);
    clock.advance(INTERVAL_MS);
    await collected(() => pipeline.state.taken, 2);
    expect(pipeline.state).toMatchObject({ encoding: 'json', rejected: 1, dropped: 0 });
  });

  test('and that refuses protobuf later gets what it refused as JSON, and JSON from then on', async () => {
    const receiver = await receive();
    const { pipeline, clock } = pipelineTo(receiver.url, { isEncodingOpen: true });
    await collected(() => receiver.requests.length, 2);
    clock.advance(INTERVAL_MS);
    await collected(() => pipeline.state.taken, 2);
    answersProtobuf(receiver, (_nth, response) => {
      response.writeHead(415).end();
      return true;
    });
    for (let interval = 3; interval <= 5; interval += 1) {
      clock.advance(INTERVAL_MS);
      await collected(() => pipeline.state.taken, interval);
    }
    expect(readBy(receiver).slice(3)).toEqual([['protobuf', null], ...Array(3).fill(['json', 1])]);
    expect(pipeline.state).toMatchObject({ encoding: 'json', dropped: 0 });
  });
});
