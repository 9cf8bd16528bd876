import { gzipSync } from 'node:zlib';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import type { HttpCheck } from '@svc/shared/messages/check.ts';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  bombs,
  ENDLESS,
  ENDLESS_BODIES,
  encoded,
  endlessRedirects,
  FLOODS,
  MALFORMED,
  ODD_BUT_GOOD,
  redirectTo,
  resetInBody,
} from '../../../../../test/support/hostile-http.ts';
import { fixedResolver, httpCheck } from '../../../../../test/support/http-check.ts';
import {
  answer,
  type Behaviour,
  flood,
  type RawTarget,
  startRawTarget,
} from '../../../../../test/support/raw-target.ts';
import { KeptBodies } from './kept-bodies.ts';
import { createHttpProbe } from './probe.ts';

const TIMEOUT_MS = 150;
/** A time-out that is long enough never to end a check that should end by itself. */
const LONG_MS = 15_000;
const keptBodies = new KeptBodies();
const probe = createHttpProbe({
  resolver: fixedResolver(),
  egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
  keptBodies,
});
const { signal } = new AbortController();

const targets: RawTarget[] = [];
async function start(behaviour: Behaviour): Promise<RawTarget> {
  const target = await startRawTarget(behaviour);
  targets.push(target);
  return target;
}

afterEach(async () => {
  // No connection may be left, and no memory of a body.
  await Promise.all(targets.map((target) => target.idle()));
  await Promise.all(targets.splice(0).map((target) => target.close()));
  expect(keptBodies.freeBytes).toBe(LIMITS.keptBodiesBytes);
});

async function run(behaviour: Behaviour, given: Partial<HttpCheck> = {}, timeoutMs = LONG_MS) {
  const target = await start(behaviour);
  return probe.run(httpCheck({ url: `${target.url}/`, ...given }), { timeoutMs, signal });
}

const assertingBody: Partial<HttpCheck> = { body_assertions: [{ comparator: 'not_empty', target: '' }] };

describe.each([
  ['without body assertion', {}],
  ['with a body assertion', assertingBody],
] as const)('%s', (_name, given) => {
  test.each(Object.entries(ENDLESS))('a target that %s times out', async (_name, behaviour) => {
    const outcome = await run(behaviour, given, TIMEOUT_MS);
    expect(outcome).toMatchObject({ outcome: 'failed', timedOut: true });
    expect(outcome.errorMessage).toContain(`timed out after ${TIMEOUT_MS} ms`);
    expect(outcome.latency).toBeGreaterThanOrEqual(TIMEOUT_MS - 2);
  });

  test.each(Object.entries(FLOODS))('%s: refused before the time-out', async (_name, behaviour) => {
    const outcome = await run(behaviour, given);
    expect(outcome.outcome).toBe('failed');
    expect(outcome.timedOut).toBeUndefined();
  });

  test.each(Object.entries(ENDLESS_BODIES))('a body %s is cut at 2 MiB', async (_name, behaviour) => {
    const outcome = await run(behaviour, given);
    expect(outcome).toMatchObject({ outcome: 'passed', bodyTruncated: true, statusCode: 200 });
  });

  test.each(Object.entries(MALFORMED).map(([name, { bytes, says }]) => ({ name, bytes, says })))(
    '$name: failed, and said',
    async ({ bytes, says }) => {
      const outcome = await run(answer(bytes), given);
      expect(outcome.outcome).toBe('failed');
      expect(outcome.errorMessage).toMatch(says);
      expect(outcome.errorMessage?.length).toBeLessThanOrEqual(LIMITS.errorMessage);
      expect(outcome.timedOut).toBeUndefined();
    },
  );

  test('a reset in the middle of the body', async () => {
    const outcome = await run(resetInBody, given);
    expect(outcome).toMatchObject({ outcome: 'failed', statusCode: 200 });
    expect(outcome.errorMessage).toMatch(/reset/);
  });
});

test.each(Object.entries(ODD_BUT_GOOD))('%s is understood', async (_name, bytes) => {
  const outcome = await run(answer(bytes), { body_assertions: [{ comparator: 'eq', target: 'hello' }] });
  expect(outcome).toMatchObject({ outcome: 'passed', statusCode: 200 });
});

describe('encoded bodies', () => {
  let bodies: Record<string, Buffer>;
  beforeAll(() => {
    bodies = bombs();
  });

  test.each(['gzip', 'deflate', 'br', 'zstd', 'gzip, gzip'])(
    'a bomb in %s stops at 2 MiB',
    async (coding) => {
      const body = bodies[coding];
      if (body === undefined) throw new Error(`no bomb in ${coding}`);
      const outcome = await run(encoded(coding, body), {
        body_assertions: [
          { comparator: 'not_contains', target: 'b' },
          { comparator: 'contains', target: 'a'.repeat(1_000) },
        ],
      });
      expect(outcome).toMatchObject({ outcome: 'passed', bodyTruncated: true });
    },
  );

  test('forty bombs at once keep memory bounded', async () => {
    const target = await start(encoded('gzip', bodies.gzip ?? Buffer.alloc(0)));
    const before = process.memoryUsage();
    let peak = 0;
    const watch = setInterval(() => {
      const { external, arrayBuffers } = process.memoryUsage();
      peak = Math.max(peak, external + arrayBuffers);
    }, 5);
    const check = httpCheck({ url: target.url, ...assertingBody });
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, () => probe.run(check, { timeoutMs: LONG_MS, signal })),
    );
    clearInterval(watch);
    // Together, the bombs would decode to 40 GiB. A body takes up to 2 MiB encoded and 2 MiB decoded, so some
    // 15 fit into the shared 64 MiB. Other checks find the memory full, or begin after a body was released.
    const allowed = new Set(['passed', 'not_run']);
    expect(outcomes.filter(({ outcome }) => !allowed.has(outcome))).toEqual([]);
    expect(outcomes.some(({ outcome }) => outcome === 'passed')).toBe(true);
    // `external` includes `arrayBuffers`, so these are counted twice, and some
    // garbage may not be collected yet.
    expect(peak - before.external - before.arrayBuffers).toBeLessThan(600 * 2 ** 20);
  });

  test.each([
    ['gzip that is none', 'gzip', Buffer.from('hello'), /decoded as gzip/],
    ['gzip that is cut off', 'gzip', Buffer.from('1f8b0800000000000003cb48', 'hex'), /decoded as gzip/],
    ['brotli that is none', 'br', Buffer.from('hello hello hello'), /decoded as br/],
    ['zstd that is none', 'zstd', Buffer.from('hello'), /decoded as zstd/],
    ['more codings than a body needs', 'gzip, gzip, gzip', Buffer.from('x'), /encoded more than 2 times/],
  ])('%s fails where the body is asserted', async (_name, coding, body, says) => {
    const outcome = await run(encoded(coding, body), assertingBody);
    expect(outcome.outcome).toBe('failed');
    expect(outcome.errorMessage).toMatch(says);
    expect(await run(encoded(coding, body))).toMatchObject({ outcome: 'passed' });
  });
});

test('gzip of nothing without end is refused', async () => {
  const behaviour = flood('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n', gzipSync(''));
  const outcome = await run(behaviour, { body_assertions: [{ comparator: 'empty', target: '' }] });
  expect(outcome.outcome).toBe('failed');
  expect(outcome.errorMessage).toMatch(/longer than its content/);
});

test('without room for bodies a check is not run, and the room comes back', async () => {
  const small = new KeptBodies(1_024 * 1_024);
  const options = {
    resolver: fixedResolver(),
    egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
  };
  const crowded = createHttpProbe({ ...options, keptBodies: small });
  const target = await start(ENDLESS_BODIES['in chunks']);
  const outcome = await crowded.run(httpCheck({ url: target.url, ...assertingBody }), {
    timeoutMs: LONG_MS,
    signal,
  });
  expect(outcome).toMatchObject({ outcome: 'not_run', reason: 'overloaded' });
  expect(small.freeBytes).toBe(1_024 * 1_024);
});

describe('redirects', () => {
  test('after ten the eleventh is not followed', async () => {
    const target = await start(endlessRedirects(0));
    const outcome = await probe.run(httpCheck({ url: target.url }), { timeoutMs: LONG_MS, signal });
    expect(outcome).toMatchObject({ outcome: 'failed', errorMessage: 'more than 10 redirects' });
    expect(target.requests).toHaveLength(11);
  });

  test('the time-out bounds all of them together', async () => {
    const outcome = await run(endlessRedirects(100), {}, TIMEOUT_MS);
    expect(outcome).toMatchObject({ outcome: 'failed', timedOut: true });
  });

  test.each([
    ['file:///etc/passwd', /file: URL/],
    ['javascript:alert(1)', /javascript: URL/],
    ['ftp://example.com/', /ftp: URL/],
    ['http://[', /not a URL/],
    ['http://169.254.169.254/latest/meta-data', /redirected to a forbidden address.*169\.254/],
    ['http://[::ffff:169.254.169.254]/', /redirected to a forbidden address/],
    ['http://2852039166/', /redirected to a forbidden address.*169\.254/],
  ])('to %s fails', async (location, says) => {
    const outcome = await run(redirectTo(location));
    expect(outcome.outcome).toBe('failed');
    expect(outcome.errorMessage).toMatch(says);
  });
});

test('other checks go on while every hostile target is probed at once', async () => {
  const behaviours = [...Object.values(ENDLESS), ...Object.values(FLOODS), ...Object.values(ENDLESS_BODIES)];
  const hostile = await Promise.all(behaviours.map((behaviour) => start(behaviour)));
  const healthy = await start(answer('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
  const badOnes = hostile.flatMap(({ url }) =>
    Array.from({ length: 5 }, () =>
      probe.run(httpCheck({ url, ...assertingBody }), { timeoutMs: 1_000, signal }),
    ),
  );
  const good = await Promise.all(
    Array.from({ length: 100 }, () =>
      probe.run(httpCheck({ url: healthy.url }), { timeoutMs: LONG_MS, signal }),
    ),
  );
  expect(good.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  await Promise.all(badOnes);
});
