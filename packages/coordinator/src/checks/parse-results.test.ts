import { LIMITS } from '@svc/shared/limits.ts';
import { describe, expect, test } from 'vitest';
import { parseResults } from './parse-results.ts';

const REGION = 'hosta-fra';

const messageOf = (text: string) => ({
  sequence: 1,
  subject: `svc.results.${REGION}`,
  data: Buffer.from(text),
  time: 0,
  messageId: '',
});
const batchOf = (results: readonly unknown[]) => messageOf(JSON.stringify({ v: 1, agent: 'a', results }));

/** A text that is as long as the longest allowed message, filled with `part`. */
const filled = (part: string, before = '', after = '') =>
  `${before}${part.repeat((LIMITS.messageBytes - before.length - after.length - 1) / part.length)}1${after}`;

test.each([
  ['lists in lists', filled('[')],
  ['lists beside lists', filled('[],', '[', ']')],
  ['objects in objects', filled('{"":')],
  ['objects beside objects', filled('{},', '{"v":1,"agent":"a","results":[', ']}')],
  [
    'names',
    JSON.stringify(Object.fromEntries(Array.from({ length: 24_000 }, (_, key) => [key.toString(36), 1]))),
  ],
  ['numbers', filled('1,', '{"v":1,"agent":"a","results":[{"attempts":[', ']}]}')],
])('%s without end are not parsed', async (_, text) => {
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LIMITS.messageBytes);
  expect(await parseResults(messageOf(text))).toBe('it has more parts than a batch of results can have');
});

describe('the fullest batches of honest agents are parsed', () => {
  const result = {
    monitor: 1,
    version: 1,
    slot: 1,
    token: 't',
    outcome: 'failed',
    started_at: 1,
    latency: 1,
    phases: { dns: 1, connect: 1, tls: 1, first_byte: 1, transfer: 1 },
    status_code: 500,
  };
  const attempt = { outcome: 'failed', started_ms: 0, latency: 1, status_code: 500 };

  test('of many small results', async () => {
    const attempts = Array.from({ length: 4 }, () => attempt);
    const results = Array.from({ length: LIMITS.resultsPerMessage }, () => ({ ...result, attempts }));
    const message = batchOf(results);
    expect(message.data.length).toBeGreaterThan(0.8 * LIMITS.messageBytes);
    expect(await parseResults(message)).toMatchObject({ results, malformed: 0 });
  });

  test('of messages in which a target has put arbitrary text', async () => {
    for (const text of ['"', '[', '{', ',', '\\', '\\"[']) {
      const error_message = text.repeat(200 / text.length);
      const results = Array.from({ length: 300 }, () => ({ ...result, error_message, attempts: [] }));
      expect(await parseResults(batchOf(results))).toMatchObject({ results, malformed: 0 });
    }
  });
});

test('between entries, other work gets the thread if it needs it', async () => {
  let pauses = 0;
  const pause = () => {
    pauses += 1;
    return pauses % 2 === 1 ? Promise.resolve() : undefined;
  };
  const parsed = await parseResults(batchOf(new Array(LIMITS.resultsPerMessage).fill({})), pause);
  expect(parsed).toMatchObject({ results: [], malformed: LIMITS.resultsPerMessage });
  expect(pauses).toBe((2 * LIMITS.resultsPerMessage) / 16);
});
