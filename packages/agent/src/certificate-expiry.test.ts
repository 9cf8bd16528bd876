import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import { Secret } from '@svc/shared/secret.ts';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { fixedResolver, httpCheck } from '../../../test/support/http-check.ts';
import { ScriptedProbe } from '../../../test/support/scripted-probe.ts';
import {
  EXPIRED,
  TEST_AUTHORITY,
  type TestCertificate,
  TRUSTED,
} from '../../../test/support/tls/certificates.ts';
import { createMetrics } from './metrics.ts';
import { createHttpProbe } from './probes/http/probe.ts';
import { Runner } from './runner.ts';

/** When {@link TRUSTED} expires. */
const EXPIRES_AT = Date.UTC(2120, 0, 1);
const DAY_MS = 86_400_000;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** Answers 200 on `/` and leads there from everywhere else. */
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

/** One check by the real probe, by an agent whose clock shows `wallNow`. */
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

test('one that has expired is a failure, as without it', async () => {
  const found = await check(await serve(EXPIRED), 30, EXPIRES_AT);
  expect(found.outcome).toBe('failed');
  expect(found.error_message).toMatch(/expired on 2020-02-01/);
});
