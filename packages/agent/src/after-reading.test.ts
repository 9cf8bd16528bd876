import { createEgressGuard } from '@svc/shared/egress.ts';
import { afterEach, expect, test } from 'vitest';
import { startBlackhole } from '../../../test/support/blackhole.ts';
import { httpCheck } from '../../../test/support/http-check.ts';
import { block, type LateTarget, startLateTarget } from '../../../test/support/late-reading.ts';
import { tcpCheck } from '../../../test/support/scripted-probe.ts';
import { createDnsProbe } from './probes/dns/probe.ts';
import { createHttpProbe } from './probes/http/probe.ts';
import { createTcpProbe } from './probes/tcp/probe.ts';
import { createSystemResolver } from './resolve/system-resolver.ts';

/** Long enough for a request to be sent on a machine that is busy. */
const timeoutMs = 1_500;
const context = { timeoutMs, signal: new AbortController().signal };
const parts = {
  resolver: createSystemResolver({ hosts: '/nonexistent', resolvConf: '/nonexistent' }),
  egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
};

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function target(): Promise<LateTarget> {
  const started = await startLateTarget();
  closing.push(started.close);
  return started;
}

test('HTTP: an answer that came in time is taken, though the time was over when it was read', async () => {
  const late = await target();
  const asked = late.asked();
  const found = createHttpProbe(parts).run(httpCheck({ url: `http://127.0.0.1:${late.tcpPort}/` }), context);
  await asked;
  late.answerBehindOurBack(timeoutMs);
  expect(await found).toMatchObject({ outcome: 'passed', statusCode: 200 });
});

test('DNS: so is one that came as a datagram', async () => {
  const late = await target();
  const probe = createDnsProbe({ servers: [`127.0.0.1:${late.udpPort}`] });
  closing.push(probe.close);
  const asked = late.asked();
  const record = { record: 'A', comparator: 'neq', target: '192.0.2.1' } as const;
  const found = probe.run(
    { ...tcpCheck(), type: 'dns', uri: 'example.com', record_assertions: [record] },
    context,
  );
  await asked;
  late.answerBehindOurBack(timeoutMs);
  // There is no such address: `neq` holds for none.
  expect(await found).toMatchObject({ outcome: 'passed' });
});

test('TCP: so is a connection', async () => {
  const late = await target();
  const found = createTcpProbe(parts).run(tcpCheck({ uri: `127.0.0.1:${late.tcpPort}` }), context);
  // The kernel makes the connection by itself.
  block(timeoutMs + 1);
  expect(await found).toMatchObject({ outcome: 'passed' });
});

test('silence stays a time-out', async () => {
  const { host, port, close } = await startBlackhole();
  closing.push(close);
  const found = createTcpProbe(parts).run(tcpCheck({ uri: `${host}:${port}` }), context);
  block(timeoutMs + 1);
  expect(await found).toMatchObject({ outcome: 'failed', timedOut: true });
});
