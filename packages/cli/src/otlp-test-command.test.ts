import { createServer, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { endServer, listenOnLoopback } from '../../../test/support/loopback-server.ts';
import { runCommandLine } from './command-line.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('the answer about an endpoint that hangs is awaited for as long as the coordinator may wait for it', async () => {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = createServer((_message, response) => asked.resolve(response));
  const port = await listenOnLoopback(server);
  const written = { out: '', err: '' };
  const code = runCommandLine(['otlp-test', '12'], {
    environment: { SVC_BASE_URL: `http://127.0.0.1:${port}`, SVC_API_TOKEN: 'a-token-of-some-length' },
    out: { write: (text) => (written.out += text) },
    err: { write: (text) => (written.err += text) },
  });
  const response = await asked.promise;
  // The coordinator needs at most two time-outs of 60 s and 5 s more.
  vi.advanceTimersByTime(125_000);
  response.writeHead(200, { 'content-type': 'application/json' });
  const answers = [{ encoding: 'json', error: 'no answer within 60 s' }];
  const answer = {
    delivered: false,
    endpoint: 'https://otlp.example',
    points: 3,
    answers,
    warnings: ['many attributes'],
    duration: 60_001,
  };
  response.end(JSON.stringify(answer));
  expect(await code).toBe(1);
  expect(written.out).toBe('3 points to https://otlp.example in 60001 ms\n  json: no answer within 60 s\n');
  expect(written.err).toContain('warning: many attributes\n');
  expect(written.err).toContain('the endpoint did not take the metrics');
  await endServer(server);
});
