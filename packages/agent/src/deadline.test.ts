import { afterEach, describe, expect, test } from 'vitest';
import { startBlackhole } from '../../../test/support/blackhole.ts';
import { block, startLateTarget } from '../../../test/support/late-reading.ts';
import { EVERY_KIND } from '../../../test/support/probes/kinds.ts';
import { createProbeSet, runProbe } from './probes/registry.ts';

/** This time-out is long enough to send a request on a busy machine. */
const timeoutMs = 1_500;
const context = { timeoutMs, signal: new AbortController().signal };

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

function probesAsking(nameServer: string) {
  const set = createProbeSet({
    userAgent: 'svc/test',
    dnsServers: [nameServer],
    probeCa: undefined,
    probeTlsGroups: undefined,
    proxyFor: undefined,
    egressDeny: [],
    egressAllow: [],
  });
  closing.push(set.close);
  return set.probes;
}

describe.each(EVERY_KIND)('%s', (_kind, { check, speaks, asks }) => {
  test('an answer that arrived in time counts, even if it is read after the time-out', async () => {
    const late = await startLateTarget();
    closing.push(late.close);
    const asked = late.asked();
    const probes = probesAsking(`127.0.0.1:${late.udpPort}`);
    const host = asks === 'target' ? '127.0.0.1' : 'example.com';
    const found = runProbe(probes, check({ host, port: late.tcpPort }), context);
    if (speaks) {
      await asked;
      late.answerBehindOurBack(timeoutMs);
    } else {
      // The kernel makes the connection while the event loop is blocked.
      block(timeoutMs + 1);
    }
    expect(await found).toMatchObject({ outcome: 'passed' });
  });

  test('silence stays a time-out', async () => {
    const hole = await startBlackhole();
    const late = await startLateTarget();
    closing.push(hole.close, late.close);
    const host = asks === 'target' ? hole.host : 'example.com';
    const probes = probesAsking(`127.0.0.1:${late.udpPort}`);
    const found = runProbe(probes, check({ host, port: hole.port }), context);
    block(timeoutMs + 1);
    expect(await found).toMatchObject({ outcome: 'failed', timedOut: true });
  });
});
