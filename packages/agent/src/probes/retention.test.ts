import { randomBytes } from 'node:crypto';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { httpCheck } from '../../../../test/support/http-check.ts';
import { answer, type RawTarget, startRawTarget } from '../../../../test/support/raw-target.ts';
import { tcpCheck } from '../../../../test/support/scripted-probe.ts';
import type { Resolver } from '../resolve/resolver.ts';
import { createSystemResolver } from '../resolve/system-resolver.ts';
import { createHttpProbe } from './http/probe.ts';
import type { ProbeOutcome } from './probe.ts';
import { createTcpProbe } from './tcp/probe.ts';

const KIB = 1_024;
const ATTEMPTS = 200;
/** As much hangs on each attempt, so that it is seen where it goes. */
const BALLAST_BYTES = 100 * KIB;

const resolver = createSystemResolver({ hosts: '/nonexistent', resolvConf: '/nonexistent' });
const egress = createEgressGuard({ base: 'agent', deny: [], allow: [] });
let target: RawTarget;

beforeAll(async () => {
  target = await startRawTarget(
    answer('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok'),
  );
});
afterAll(async () => {
  await target.close();
  await resolver.close();
});

setFlagsFromString('--expose-gc');
const collect: (options: { type: 'minor' }) => void = runInNewContext('gc');

function oldGenerationBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0;
}

/** A resolver that only this attempt has, with what makes it heavy. */
function heavyResolver(): Resolver & { ballast: string } {
  return {
    resolve: (host, signal) => resolver.resolve(host, signal),
    isSilentSince: (since) => resolver.isSilentSince(since),
    close: async () => {},
    ballast: randomBytes(BALLAST_BYTES).toString('latin1'),
  };
}

const context = { timeoutMs: 10_000, signal: new AbortController().signal };
const probing: readonly [string, () => Promise<ProbeOutcome>][] = [
  [
    'HTTP',
    () => createHttpProbe({ resolver: heavyResolver(), egress }).run(httpCheck({ url: target.url }), context),
  ],
  [
    'TCP',
    () =>
      createTcpProbe({ resolver: heavyResolver(), egress }).run(
        tcpCheck({ uri: `127.0.0.1:${target.port}` }),
        context,
      ),
  ],
];

describe('an attempt that has ended is gone with the next collection of the young generation', () => {
  test.each(probing)('%s', async (_, probe) => {
    const before = oldGenerationBytes();
    for (let count = 0; count < ATTEMPTS; count += 1) {
      expect(await probe()).toMatchObject({ outcome: 'passed' });
      // What outlives two of them is moved to the old generation.
      if (count % 4 === 3) collect({ type: 'minor' });
    }
    const moved = oldGenerationBytes() - before;
    expect(moved).toBeLessThan((ATTEMPTS * BALLAST_BYTES) / 4);
  });
});
