import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import { Secret } from '@svc/shared/secret.ts';
import { pino } from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { fixedResolver, httpCheck } from '../../../test/support/http-check.ts';
import { outcomeOf, ScriptedProbe, timedOut } from '../../../test/support/scripted-probe.ts';
import {
  EXPIRED,
  TEST_AUTHORITY,
  type TestCertificate,
  TRUSTED,
} from '../../../test/support/tls/certificates.ts';
import { judgeAttempt } from './attempt-verdict.ts';
import { createMetrics } from './metrics.ts';
import { createHttpProbe } from './probes/http/probe.ts';
import { Runner } from './runner.ts';
import type { HeldBack } from './starvation.ts';

const durationMs = 9_000;
const stalled = (loopDelayMs: number) => (): HeldBack => ({
  loopDelayMs,
  isWaiting: false,
  freeMs: 0,
  durationMs,
});
const waiting = (): HeldBack => ({ loopDelayMs: 0, isWaiting: true, freeMs: 0, durationMs });
const unasked = (): HeldBack => {
  throw new Error('the counters are read for a verdict that does not depend on them');
};
const NOW = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const starved = { outcome: 'not_run', reason: 'agent-starved' };

describe('degraded', () => {
  test.each([
    [799, 800, 'passed'],
    [800, 800, 'passed'],
    [800.04, 800, 'passed'],
    [800.06, 800, 'degraded'],
    [60_000, 0, 'passed'],
  ])('%d ms with degraded_at %d is %s', (latency, degraded_at, outcome) => {
    const found = outcomeOf('passed', { latency });
    expect(judgeAttempt(found, { degraded_at }, stalled(0), NOW)).toEqual({ outcome });
  });

  test('a failure is never degraded', () => {
    expect(judgeAttempt(outcomeOf('failed', { latency: 900 }), { degraded_at: 800 }, unasked, NOW)).toEqual({
      outcome: 'failed',
    });
  });
});

describe('a starved agent', () => {
  test('cannot judge a time-out', () => {
    expect(judgeAttempt(timedOut(1_000), { degraded_at: 0 }, stalled(500), NOW)).toEqual(starved);
  });

  test('can judge every other failure', () => {
    const verdict = judgeAttempt(outcomeOf('failed'), { degraded_at: 0 }, unasked, NOW);
    expect(verdict).toEqual({ outcome: 'failed' });
  });

  test('cannot judge a slow target when its own delay explains the excess', () => {
    const found = outcomeOf('passed', { latency: 1_200 });
    expect(judgeAttempt(found, { degraded_at: 800 }, stalled(500), NOW)).toEqual(starved);
  });

  test('can judge a slow target when the delay does not explain the excess', () => {
    const found = outcomeOf('passed', { latency: 1_301 });
    const verdict = judgeAttempt(found, { degraded_at: 800 }, stalled(500), NOW);
    expect(verdict).toEqual({ outcome: 'degraded' });
  });
});

describe('an agent that waited for a CPU for a large part of the attempt', () => {
  test('cannot judge a time-out', () => {
    expect(judgeAttempt(timedOut(1_000), { degraded_at: 0 }, waiting, NOW)).toEqual(starved);
  });

  test('cannot judge a slow target', () => {
    const found = outcomeOf('passed', { latency: 9_000 });
    expect(judgeAttempt(found, { degraded_at: 800 }, waiting, NOW)).toEqual(starved);
  });

  test('can judge an answer in time, and every other failure', () => {
    const inTime = outcomeOf('passed', { latency: 799 });
    expect(judgeAttempt(inTime, { degraded_at: 800 }, unasked, NOW)).toEqual({ outcome: 'passed' });
    const failed = judgeAttempt(outcomeOf('failed'), { degraded_at: 800 }, unasked, NOW);
    expect(failed).toEqual({ outcome: 'failed' });
  });
});

describe('an agent that was held back, and free for long enough', () => {
  const waited = (): HeldBack => ({ loopDelayMs: 0, isWaiting: true, freeMs: 4_500, durationMs });
  const stopped = (): HeldBack => ({ loopDelayMs: 700, isWaiting: false, freeMs: 4_500, durationMs });

  test.each([
    ['waited', waited],
    ['stalled', stopped],
  ])('and %s: knows that the target was silent', (_, heldBack) => {
    expect(judgeAttempt(timedOut(9_000), { degraded_at: 0 }, heldBack, NOW)).toEqual({ outcome: 'failed' });
  });

  test.each([
    [800, 'degraded'],
    [2_500, 'degraded'],
    [2_501, 'not_run'],
  ])('with degraded_at %d, an answer after 9 s is %s', (degraded_at, outcome) => {
    const found = outcomeOf('passed', { latency: 9_000 });
    expect(judgeAttempt(found, { degraded_at }, waited, NOW).outcome).toBe(outcome);
  });

  test('asks for the free time until the answer had arrived, because decoding comes after it', () => {
    const asked: (number | undefined)[] = [];
    const heldBack = (latency?: number): HeldBack => {
      asked.push(latency);
      return waited();
    };
    judgeAttempt(outcomeOf('passed', { latency: 5_000 }), { degraded_at: 800 }, heldBack, NOW);
    judgeAttempt(timedOut(9_000), { degraded_at: 800 }, heldBack, NOW);
    expect(asked).toEqual([5_000, undefined]);
  });

  test('does not blame the target for a time-out while it was decoding the whole answer', () => {
    const found = { ...timedOut(9_000), hasWholeAnswer: true };
    expect(judgeAttempt(found, { degraded_at: 0 }, waited, NOW)).toEqual(starved);
  });
});

describe('a certificate that expires sooner than required', () => {
  const judge = (certificateExpiresAt: number | undefined, certificate_expiry_days: number | undefined) =>
    judgeAttempt(
      outcomeOf('passed', certificateExpiresAt === undefined ? {} : { certificateExpiresAt }),
      certificate_expiry_days === undefined
        ? { degraded_at: 0 }
        : { degraded_at: 0, certificate_expiry_days },
      unasked,
      NOW,
    );

  test.each([
    ['in 29.9 days', NOW + 29.9 * DAY_MS, 30, 'in 29 days', 'in 30 days'],
    ['a millisecond too soon', NOW + 30 * DAY_MS - 1, 30, 'in 29 days', 'in 30 days'],
    ['tomorrow', NOW + 1.5 * DAY_MS, 2, 'in 1 day,', 'in 2 days'],
    ['today', NOW + 60_000, 1, 'within a day', 'in 1 day'],
  ])('%s: a passing check is degraded and says when', (_, expiresAt, days, left, asked) => {
    const { outcome, message } = judge(expiresAt, days);
    expect(outcome).toBe('degraded');
    expect(message).toContain(left);
    expect(message).toContain(new Date(expiresAt).toISOString());
    expect(message?.endsWith(`sooner than ${asked}`)).toBe(true);
  });

  test.each([
    ['exactly as long as asked', NOW + 30 * DAY_MS, 30],
    ['nothing asked', NOW + 1, undefined],
    ['no certificate', undefined, 398],
    ['a date that cannot be read', Number.NaN, 398],
  ])('%s: it passes', (_, expiresAt, days) => {
    expect(judge(expiresAt, days)).toEqual({ outcome: 'passed' });
  });

  test('is seen by a starved agent too', () => {
    const found = outcomeOf('passed', { latency: 1_200, certificateExpiresAt: NOW + DAY_MS });
    const check = { degraded_at: 800, certificate_expiry_days: 7 };
    expect(judgeAttempt(found, check, waiting, NOW).outcome).toBe('degraded');
  });

  test('changes nothing about a failure', () => {
    const found = outcomeOf('failed', { certificateExpiresAt: NOW + 1 });
    expect(judgeAttempt(found, { degraded_at: 0, certificate_expiry_days: 7 }, unasked, NOW)).toEqual({
      outcome: 'failed',
    });
  });
});

test('an attempt that was not run keeps its reason', () => {
  const found = outcomeOf('not_run', { reason: 'egress-denied' });
  expect(judgeAttempt(found, { degraded_at: 0 }, unasked, NOW)).toEqual({
    outcome: 'not_run',
    reason: 'egress-denied',
  });
});

/** When {@link TRUSTED} expires. */
const EXPIRES_AT = Date.UTC(2120, 0, 1);

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** A server that answers 200 on `/` and redirects every other path there. */
async function serve(certificate: TestCertificate): Promise<string> {
  const server = createServer(certificate, (request, response) => {
    if (request.url === '/') response.end('ok');
    else response.writeHead(302, { location: '/' }).end();
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The result of one check with the real probe, for an agent whose clock shows `wallNow`. */
async function check(url: string, certificate_expiry_days: number, wallNow: number): Promise<CheckResult> {
  const clock = new FakeClock(wallNow);
  const http = createHttpProbe({
    resolver: fixedResolver(),
    egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
    tlsOptions: { ca: [TEST_AUTHORITY] },
  });
  const reported = Promise.withResolvers<CheckResult>();
  const runner = new Runner({
    probes: { ...new ScriptedProbe().set.probes, http },
    concurrency: 1,
    clock,
    starvation: {
      delaySince: () => 0,
      heldBackSince: () => ({ loopDelayMs: 0, isWaiting: false, freeMs: 0, durationMs: 0 }),
      voided: () => {},
    },
    network: { seen: () => null },
    random: () => 0.5,
    metrics: createMetrics(),
    log: pino({ level: 'silent' }),
    onResult: reported.resolve,
  });
  const job = { monitor: 1, version: 1, slot: 1_000, token: 'token', start_within_ms: 10_000 };
  runner.submit(
    { ...job, check: new Secret(httpCheck({ url, certificate_expiry_days })) },
    clock.monotonic(),
    'svc.results.hosta-fra',
  );
  return await reported.promise;
}

test.each(['/', '/elsewhere'])('%s: a certificate that expires too soon makes it degraded', async (path) => {
  const found = await check(`${await serve(TRUSTED)}${path}`, 30, EXPIRES_AT - 10 * DAY_MS);
  const error_message =
    'the TLS certificate expires in 10 days, on 2120-01-01T00:00:00.000Z: sooner than in 30 days';
  expect(found).toMatchObject({ outcome: 'degraded', status_code: 200, error_message });
  expect(found.attempts).toMatchObject([{ outcome: 'degraded', error_message }]);
});

test('a certificate that is valid for longer passes', async () => {
  const found = await check(await serve(TRUSTED), 30, EXPIRES_AT - 30 * DAY_MS);
  expect(found.outcome).toBe('passed');
  expect(found).not.toHaveProperty('error_message');
});

test('an expired certificate is a failure, as without the setting', async () => {
  const found = await check(await serve(EXPIRED), 30, EXPIRES_AT);
  expect(found.outcome).toBe('failed');
  expect(found.error_message).toMatch(/expired on 2020-02-01/);
});
