import { LIMITS } from '@svc/shared/limits.ts';
import { MAX_AGENT_MESSAGE_BYTES } from '@svc/shared/messages/heartbeat.ts';
import { describe, expect, test } from 'vitest';
import { isWorthParsing } from './message-outline.ts';

const bytes = (message: object) => Buffer.from(JSON.stringify(message));

describe('the largest of what agents say is worth parsing', () => {
  const agent = '"'.repeat(128);
  const largest = Number.MAX_SAFE_INTEGER;

  test('a heartbeat', () => {
    const heartbeat = bytes({
      v: 1,
      kind: 'heartbeat',
      agent,
      boot: '"'.repeat(64),
      version: '"'.repeat(64),
      capacity: largest,
      running: largest,
      held: largest,
      begun: largest,
      late: largest,
      loop_delay_ms: largest,
      clock: largest,
      started_at: largest,
      draining: false,
      machine: '"'.repeat(255),
      sick: new Array(16).fill('"'.repeat(64)),
      disowned: largest,
      understands: new Array(32).fill('"'.repeat(64)),
    });
    expect(heartbeat.length).toBeLessThanOrEqual(MAX_AGENT_MESSAGE_BYTES);
    expect(isWorthParsing(heartbeat)).toBe(true);
  });

  test('the outcome of a check that was run by hand', () => {
    const error_message = '"'.repeat(LIMITS.errorMessage);
    const attempts = new Array(LIMITS.retries + 1).fill({ outcome: 'failed', started_ms: 1, error_message });
    const result = { outcome: 'failed', error_message, attempts, phases: { dns: 1 } };
    expect(isWorthParsing(bytes({ v: 1, kind: 'run_outcome', agent, run: 'x', result }))).toBe(true);
  });
});

test.each([
  ['lists in lists', '['.repeat(MAX_AGENT_MESSAGE_BYTES)],
  ['lists beside lists', `[${'[],'.repeat(100_000)}1]`],
  ['objects in objects', `${'{"":'.repeat(5_000)}1${'}'.repeat(5_000)}`],
  ['keys', JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, key) => [`key ${key}`, 1])))],
  ['texts', JSON.stringify(new Array(100_000).fill(''))],
])('%s without end are not', (_, text) => {
  expect(isWorthParsing(Buffer.from(text))).toBe(false);
});
