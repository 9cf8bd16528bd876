import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../limits.ts';
import { type CheckResult, readCheckResult, readResultBatch } from './check-result.ts';
import { usualResults } from './usual-results.ts';

const ms = fc.oneof(
  fc.integer({ min: 0, max: 900 }).map((tenths) => tenths / 10),
  fc.constantFrom<number>(0, 0.05, 1e-7, 86_400_000, 86_400_000.1, 999_999_999.9, 12.25, -1, 123_456_789_012),
);
const count = fc.oneof(
  fc.nat(1_000),
  fc.constantFrom<number>(0, -1, 0.5, 1_763_720_000_000, 999_999_999_999_999, 2 ** 53 - 1, 2 ** 53, 1e21),
);
const outcome = fc.constantFrom('passed', 'degraded', 'failed', 'not_run');
const sometimes = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const phases = fc.record({
  dns: sometimes(ms),
  connect: sometimes(ms),
  tls: sometimes(ms),
  first_byte: sometimes(ms),
  transfer: sometimes(ms),
});

/** As agents write them, with values that are rarely out of bounds. */
const result = fc
  .record({
    ...{ monitor: count, version: count, slot: count, started_at: count, outcome, latency: ms, phases },
    token: fc.oneof(fc.stringMatching(/^[\w-]{22}$/), fc.string({ maxLength: 66 })),
    status_code: sometimes(fc.oneof(fc.constant(200), fc.integer({ min: -1, max: 1_001 }))),
    certificate_expires_at: sometimes(count),
    error_message: sometimes(fc.constant('why')),
    startedMs: fc.constantFrom(0, 0, 0, 0.5),
    attempted: fc.constantFrom('same', 'same', 'same', 'other', 'none'),
  })
  .map(({ startedMs, attempted, ...each }) => {
    const { latency, phases: parts, status_code, certificate_expires_at, error_message, ...job } = each;
    const one = { outcome: job.outcome, started_ms: startedMs, latency, status_code };
    const attempts = { same: [one], other: [{ ...one, latency: 7 }], none: [] }[attempted];
    const { monitor, version, slot, token, started_at } = job;
    return {
      ...{
        monitor,
        version,
        slot,
        token,
        outcome: job.outcome,
        started_at,
        attempts,
        latency,
        phases: parts,
      },
      ...{ status_code, error_message, certificate_expires_at },
    };
  });

const batch = fc
  .record({
    v: fc.constantFrom<number>(1, 1, 1, 2, 0, 1.5),
    agent: fc.oneof(fc.constant('agent-1'), fc.string({ maxLength: 130 })),
    results: fc.array(result, { maxLength: 4 }),
  })
  .map((value) => Buffer.from(JSON.stringify(value)));

/** What the schemas read; null: it is no batch, or some of its results are none. */
function read(data: Uint8Array): { agent: string; results: CheckResult[] } | null {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data));
  } catch {
    return null;
  }
  const found = readResultBatch(json);
  if (found === null) return null;
  const results = found.results.map(readCheckResult);
  return results.includes(null) ? null : { agent: found.agent, results: results as CheckResult[] };
}

const USUAL: CheckResult = {
  monitor: 7,
  version: 1,
  slot: 1_763_720_000_000,
  token: 'abcdefghijklmnopqrst-_',
  outcome: 'passed',
  started_at: 1_763_720_000_004,
  attempts: [{ outcome: 'passed', started_ms: 0, latency: 12.5, status_code: 200 }],
  latency: 12.5,
  phases: { dns: 0.5, connect: 1, tls: 3, first_byte: 5, transfer: 3 },
  status_code: 200,
};
const bytesOf = (results: readonly unknown[]) =>
  Buffer.from(JSON.stringify({ v: 1, agent: 'agent-1', results }));

describe('what is read is what the schemas read', () => {
  test('in messages as agents send them', () => {
    fc.assert(
      fc.property(batch, (data) => {
        const usual = usualResults(data);
        if (usual !== null) expect(usual).toStrictEqual(read(data));
      }),
      { numRuns: 1_500 },
    );
  });

  test('in messages in which a few bytes are others', () => {
    const usual = bytesOf([USUAL, { ...USUAL, monitor: 8, certificate_expires_at: 1_800_000_000_000 }]);
    const byte = fc.oneof(fc.constantFrom(...Buffer.from('0123456789.-eE"\\{}[],: ')), fc.nat(255));
    const change = fc.record({
      at: fc.nat(usual.length),
      removed: fc.nat(2),
      added: fc.array(byte, { maxLength: 2 }),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        let data = usual;
        for (const { at, removed, added } of changes) {
          data = Buffer.concat([data.subarray(0, at), Buffer.from(added), data.subarray(at + removed)]);
        }
        const found = usualResults(data);
        if (found !== null) expect(found).toStrictEqual(read(data));
      }),
      { numRuns: 4_000 },
    );
  });

  test('in every beginning of a message, of which only the whole is one', () => {
    const whole = bytesOf([USUAL]);
    for (let length = 0; length < whole.length; length += 1) {
      expect(usualResults(whole.subarray(0, length))).toBeNull();
    }
    expect(usualResults(whole)).toStrictEqual(read(whole));
  });
});

const { status_code: _, ...withoutStatus } = USUAL;

test.each([
  ['an HTTP check', USUAL],
  ['a check of a certificate', { ...USUAL, certificate_expires_at: 1_800_000_000_000 }],
  ['a TCP check', { ...withoutStatus, attempts: [{ outcome: 'passed', started_ms: 0, latency: 12.5 }] }],
  ['a check with few phases', { ...USUAL, phases: { connect: 0, transfer: 12.5 } }],
  ['a check without phases', { ...USUAL, phases: {} }],
  [
    'a failed check',
    {
      ...USUAL,
      ...{ outcome: 'failed', status_code: 500 },
      attempts: [{ outcome: 'failed', started_ms: 0, latency: 12.5, status_code: 500 }],
    },
  ],
])('%s is usual', (_name, usual) => {
  const data = bytesOf([USUAL, usual]);
  expect(usualResults(data)).toStrictEqual(read(data));
  expect(usualResults(data)?.results).toHaveLength(2);
});

test('no more results are read than a message may have', () => {
  const most = bytesOf(new Array(LIMITS.resultsPerMessage).fill(USUAL));
  expect(usualResults(most)?.results).toHaveLength(LIMITS.resultsPerMessage);
  expect(usualResults(bytesOf(new Array(LIMITS.resultsPerMessage + 1).fill(USUAL)))).toBeNull();
});
