import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../limits.ts';
import { dnsCheck, httpCheck, tcpCheck } from './check.ts';
import { type CheckJob, checkJob, readCheckJob } from './check-job.ts';
import { usualCheck } from './usual-check.ts';

const common = { timeout: 5_000, retry: 2, degraded_at: 0 };
const http = {
  type: 'http',
  url: 'https://a.example/',
  method: 'POST',
  headers: [{ key: 'Accept', value: 'text/html' }],
  body: 'x',
  follow_redirects: true,
  status_code_assertions: [{ target: 200, comparator: 'eq' }],
  body_assertions: [{ target: 'ok', comparator: 'contains' }],
  header_assertions: [{ key: 'Server', target: '', comparator: 'not_empty' }],
  certificate_expiry_days: 14,
  ...common,
};
const tcp = { type: 'tcp', uri: 'a.example:25', ...common };
const dns = { type: 'dns', uri: 'a.example', record_assertions: [], ...common };
const job = (check: unknown) => ({
  ...{ monitor: 7, version: 1, slot: 1_763_720_000_000, token: 'x'.repeat(22) },
  ...{ wait_ms: 100, start_within_ms: 10_000, slow: true, check },
});

/** A job as the schema reads it, its check in clear. */
const opened = (read: CheckJob | null): unknown => read && { ...read, check: read.check.reveal() };
const bySchema = (value: unknown): unknown => {
  const parsed = checkJob.safeParse(value);
  return parsed.success ? opened(parsed.data) : null;
};

/** What breaks a member, or just does not. */
const odd = fc.oneof(
  fc.constantFrom(undefined, null, true, '', 0, -0, 1, -1, 0.5, '1', [], {}, [null], [[]], [{}]),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 1e300, 'http', 'tcp', 'dns', 'GET', 'TRACE'),
  fc.constantFrom(
    LIMITS.timeoutMs,
    LIMITS.timeoutMs + 1,
    LIMITS.retries + 1,
    LIMITS.jobAheadMs + 1,
    398,
    399,
  ),
  fc
    .constantFrom(64, 65, 2 * LIMITS.target, 2 * LIMITS.target + 1, LIMITS.requestBodyBytes + 1)
    .map((length) => 'x'.repeat(length)),
  fc.constantFrom(LIMITS.headers, LIMITS.headers + 1).map((length) => Array(length).fill(http.headers[0])),
  fc
    .constantFrom(LIMITS.assertions, LIMITS.assertions + 1)
    .map((length) => Array(length).fill({ key: 'k', target: 1, comparator: 'gt' })),
  fc
    .record({
      key: fc.constantFrom('k', 1, 'x'.repeat(LIMITS.headerValueBytes + 1)),
      value: fc.constantFrom('v', undefined),
      target: fc.constantFrom('t', 1, 1.5, null),
      comparator: fc.constantFrom('eq', 'contains', 'empty', 'like', 1),
    })
    .map((item) => [item]),
);

/** A good job of which some members are odd. */
const someJob = fc
  .tuple(
    fc.constantFrom(http, tcp, dns),
    fc.dictionary(fc.constantFrom(...Object.keys(job(http)), 'later'), odd, { maxKeys: 1 }),
    fc.dictionary(fc.constantFrom(...Object.keys(http), 'uri', 'later'), odd, { maxKeys: 2 }),
  )
  .map(([check, ofJob, ofCheck]) => ({ ...job({ ...check, ...ofCheck }), ...ofJob }));

/** Without what the schema leaves out of headers and assertions, which those recognised by hand keep. */
const known = (read: CheckJob | null): unknown => read && bySchema({ ...read, check: read.check.reveal() });

describe('a job is read as the schema reads it', () => {
  test('whatever it is, also where it is recognised by hand', () => {
    fc.assert(
      fc.property(fc.oneof(someJob, fc.jsonValue()), (value) => {
        expect(known(readCheckJob(value))).toEqual(bySchema(value));
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([http, tcp, dns])('with every member of $type', (check) => {
    expect(opened(readCheckJob(job(check)))).toEqual(job(check));
  });

  test('without members that are unknown', () => {
    expect(opened(readCheckJob({ ...job({ ...tcp, later: 1 }), later: 1 }))).toEqual(job(tcp));
  });
});

describe('what is recognised by hand', () => {
  test('are the checks of HTTP and TCP monitors, with all members that their schemas have', () => {
    for (const [schema, check] of [
      [httpCheck, http],
      [tcpCheck, tcp],
    ] as const) {
      expect(Object.keys(schema.shape).toSorted()).toEqual(Object.keys(check).toSorted());
      expect(usualCheck(check)).toEqual(check);
    }
    expect(dnsCheck.safeParse(dns).success).toBe(true);
    expect(usualCheck(dns)).toBeNull();
  });
});
