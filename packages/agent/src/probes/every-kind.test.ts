import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMITS } from '@svc/shared/limits.ts';
import type { Check } from '@svc/shared/messages/check.ts';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Blackhole, startBlackhole } from '../../../../test/support/blackhole.ts';
import { a, type DnsHandler, DnsTestServer } from '../../../../test/support/dns-server.ts';
import { freePort } from '../../../../test/support/free-port.ts';
import { EVERY_KIND } from '../../../../test/support/probes/kinds.ts';
import { answer, type RawTarget, startRawTarget } from '../../../../test/support/raw-target.ts';
import type { ProbeContext, ProbeOutcome } from './probe.ts';
import { createProbeSet, type ProbeSet, type ProbeSetOptions, runProbe } from './registry.ts';

/** A time-out that is long enough never to end a check. */
const LONG_MS = 30_000;
const SHORT_MS = 120;
const NAME = 'target.test';

const zone: DnsHandler = ({ name, type }) => {
  if (name === 'nowhere.test') return { rcode: 3 };
  return type === 'A'
    ? { records: [a(name, name === 'metadata.test' ? '169.254.169.254' : '127.0.0.1')] }
    : {};
};

let hole: Blackhole;
let target: RawTarget;
let names: DnsTestServer;
let folder: string;
beforeAll(async () => {
  hole = await startBlackhole();
  target = await startRawTarget(answer('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
  names = await DnsTestServer.start(zone);
  folder = mkdtempSync(join(tmpdir(), 'svc-probes-'));
});
afterAll(async () => {
  await Promise.all([hole.close(), target.close(), names.close()]);
  rmSync(folder, { recursive: true });
});

beforeEach(() => {
  names.handle(zone);
  names.requests.length = 0;
});

const sets: ProbeSet[] = [];
afterEach(async () => {
  await Promise.all(sets.splice(0).map((set) => set.close()));
  await target.idle();
});

/** The probes of an agent whose machine has one name server. */
function probes(changes: Partial<ProbeSetOptions & { nameServer: string }> = {}): ProbeSet {
  const { nameServer = names.address, ...options } = changes;
  const systemFiles = { hosts: join(folder, 'hosts'), resolvConf: join(folder, `resolv-${nameServer}.conf`) };
  writeFileSync(systemFiles.hosts, '');
  const [host, port] = nameServer.split(':');
  writeFileSync(systemFiles.resolvConf, `nameserver [${host}]:${port}\ndomain .\n`);
  const set = createProbeSet({
    userAgent: 'svc/test',
    dnsServers: [nameServer],
    probeCa: undefined,
    probeTlsGroups: undefined,
    proxyFor: undefined,
    egressDeny: [],
    egressAllow: [],
    systemFiles,
    ...options,
  });
  sets.push(set);
  return set;
}

/** Runs one attempt, and requires that its phases add up to its latency. */
async function run(set: ProbeSet, check: Check, changes: Partial<ProbeContext> = {}): Promise<ProbeOutcome> {
  const context = { timeoutMs: LONG_MS, signal: new AbortController().signal, ...changes };
  const found = await runProbe(set.probes, check, context);
  const parts = Object.values(found.phases);
  // An attempt that ends before its first phase takes almost no time.
  if (parts.length > 0)
    expect(parts.reduce((sum = 0, part = 0) => sum + part, 0)).toBeCloseTo(found.latency, 6);
  expect(found.reason !== undefined).toBe(found.outcome === 'not_run');
  if (found.outcome === 'failed') expect(found.errorMessage).toMatch(/./);
  else expect(found.timedOut ?? found.notConnected).toBeUndefined();
  if (found.outcome === 'passed') expect(found.errorMessage).toBeUndefined();
  expect(found.errorMessage?.length ?? 0).toBeLessThanOrEqual(LIMITS.errorMessage);
  return found;
}

const shuttingDown = { outcome: 'not_run', reason: 'shutting-down' };

describe.each(EVERY_KIND)('%s', (_kind, { check, asks, phases, silence, nonsense }) => {
  const loopback = () => ({ host: '127.0.0.1', port: target.port });
  /** Silent targets: a listener that accepts nothing, and a name server that does not answer. */
  const silent = () => {
    names.handle(() => null);
    return asks === 'target' ? hole : { host: NAME, port: 1 };
  };

  test('a target that answers passes', async () => {
    const found = await run(probes(), check(asks === 'target' ? loopback() : { host: NAME, port: 1 }));
    expect(found.outcome).toBe('passed');
    expect(Object.keys(found.phases).sort()).toEqual([...phases].sort());
    expect(found.latency).toBeGreaterThan(0);
  });

  test('a target with a name passes too, and its look-up is part of the latency', async () => {
    const found = await run(probes(), check({ host: NAME, port: target.port }));
    expect(found.outcome).toBe('passed');
    expect(Object.keys(found.phases).sort()).toEqual([...new Set(['dns', ...phases])].sort());
  });

  test('a silent target fails by the time-out, whose message names the phase', async () => {
    const found = await run(probes(), check(silent()), { timeoutMs: SHORT_MS });
    expect(found).toMatchObject({
      outcome: 'failed',
      timedOut: true,
      errorMessage: expect.stringMatching(silence),
    });
    expect(found.errorMessage).toContain(`${SHORT_MS} ms`);
    expect(found.notConnected).toBeUndefined();
    // A timer may end a little early.
    expect(found.latency).toBeGreaterThan(SHORT_MS - 10);
  });

  test('no process at the other side: the target failed, or this machine has no name server', async () => {
    const port = await freePort();
    const nobody = `127.0.0.1:${port}`;
    const found = await run(probes({ nameServer: nobody }), check({ host: '127.0.0.1', port }));
    if (asks === 'target') {
      const errorMessage = `connection refused (ECONNREFUSED ${nobody})`;
      expect(found).toMatchObject({ outcome: 'failed', errorMessage, notConnected: true });
    } else expect(found).toMatchObject({ outcome: 'not_run', reason: 'network-down' });
    expect(found.timedOut).toBeUndefined();
  });

  describe('the name server', () => {
    const named = (host = NAME) => check({ host, port: target.port });

    test('says that there is no such name: the target fails, and the network is not in doubt', async () => {
      const found = await run(probes(), named('nowhere.test'));
      expect(found).toMatchObject({ outcome: 'failed', errorMessage: expect.stringContaining('NXDOMAIN') });
      expect(found.errorMessage).toContain('nowhere.test');
      expect(found.notConnected ?? found.timedOut).toBeUndefined();
    });

    test('has no answer: the target fails, but the network may be down', async () => {
      names.handle(() => ({ rcode: 2 }));
      const found = await run(probes(), named());
      expect(found).toMatchObject({ outcome: 'failed', notConnected: true });
      expect(found.errorMessage).toContain(`SERVFAIL from ${names.address}`);
    });

    test('is silent: a time-out', async () => {
      names.handle(() => null);
      const found = await run(probes(), named(), { timeoutMs: SHORT_MS });
      expect(found).toMatchObject({ outcome: 'failed', timedOut: true });
      expect(Object.keys(found.phases)).toEqual(['dns']);
    });

    test('cannot be reached: not the fault of the target', async () => {
      const found = await run(probes({ nameServer: `127.0.0.1:${await freePort()}` }), named());
      expect(found).toMatchObject({ outcome: 'not_run', reason: 'network-down' });
      expect(found.errorMessage).toContain('cannot reach any name server');
    });
  });

  describe('the rules of the operator', () => {
    test.each(['127.0.0.1', NAME])('deny %s: nothing is dialled', async (host) => {
      const before = target.requests.length;
      const found = await run(
        probes({ egressDeny: ['127.0.0.0/8'] }),
        check({ host: asks === 'target' ? host : NAME, port: target.port }),
      );
      if (asks === 'name-server') expect(found.outcome).toBe('passed');
      else {
        const rule = "connections to 127.0.0.1 are denied by the operator's egress rules (127.0.0.0/8)";
        expect(found).toMatchObject({ outcome: 'not_run', reason: 'egress-denied', errorMessage: rule });
        expect(target.requests.length).toBe(before);
      }
    });

    test('deny addresses of cloud metadata, in every spelling and by name', async () => {
      if (asks === 'name-server') return;
      const hosts = ['169.254.169.254', '[fe80::1]', '[::ffff:169.254.1.1]', 'metadata.test'];
      for (const host of hosts) {
        const found = await run(probes(), check({ host, port: 80 }));
        expect([host, found.outcome, found.reason]).toEqual([host, 'not_run', 'egress-denied']);
      }
    });
  });

  describe('an agent that stops', () => {
    test('starts nothing', async () => {
      const found = await run(probes(), check(loopback()), { signal: AbortSignal.abort() });
      expect(found).toMatchObject(shuttingDown);
      expect(names.requests).toEqual([]);
    });

    test('does not wait for a silent target', async () => {
      const stop = new AbortController();
      const found = run(probes(), check(silent()), { signal: stop.signal });
      setImmediate(() => stop.abort());
      expect(await found).toMatchObject(shuttingDown);
    });

    test('does not wait for a name server', async () => {
      const stop = new AbortController();
      names.handle(() => {
        stop.abort();
        return null;
      });
      expect(await run(probes(), check({ host: NAME, port: 80 }), { signal: stop.signal })).toMatchObject(
        shuttingDown,
      );
    });
  });

  test('an impossible target fails, and is named', async () => {
    const found = await run(probes(), check({ host: nonsense.host, port: 80 }));
    expect(found).toMatchObject({ outcome: 'failed', errorMessage: expect.stringMatching(nonsense.says) });
    expect(found.notConnected ?? found.timedOut).toBeUndefined();
  });

  test('whatever the target is, the attempt ends, and with an outcome that holds together', async () => {
    names.handle(() => ({ rcode: 3 }));
    const set = probes({ egressDeny: ['0.0.0.0/0', '::/0'] });
    const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.domain(), fc.ipV4(), fc.ipV6());
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, fc.constant('x'.repeat(2_000))), fc.nat(65_535), async (host, port) => {
        const { outcome, reason } = await run(set, check({ host, port }));
        expect(outcome === 'failed' || reason === 'egress-denied').toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test('concurrent attempts do not affect each other', async () => {
    const set = probes();
    const found = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        run(set, check({ host: index % 2 === 0 ? NAME : 'nowhere.test', port: target.port })),
      ),
    );
    expect(found.map(({ outcome }) => outcome)).toEqual(
      found.map((_, index) => (index % 2 === 0 ? 'passed' : 'failed')),
    );
  });
});
