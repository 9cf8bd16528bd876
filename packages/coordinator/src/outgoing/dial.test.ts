import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { trustedContext } from '@svc/shared/server-trust.ts';
import { expect, test } from 'vitest';
import { guardedConnector } from './dial.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test('an abandoned dial keeps nothing in memory while its lookup goes on', async () => {
  const connect = guardedConnector({
    guard: createEgressGuard({ base: 'channel', deny: [], allow: [] }),
    resolve: () => NEVER,
    secureContext: trustedContext,
    proxyFor: undefined,
  });
  const kept = (() => {
    const giveUp = new AbortController();
    const told = () => {};
    const options = { hostname: 'dead.example', protocol: 'http:', port: '80' };
    connect(options, giveUp.signal, told);
    giveUp.abort();
    return new WeakRef(told);
  })();
  // A boolean is polled, because a failed assertion about the object itself would keep the object in memory.
  const isKept = () => {
    collectGarbage();
    return kept.deref() !== undefined;
  };
  await expect.poll(isKept).toBe(false);
});

/** A lookup that never ends. It holds everything that waits for it in memory. */
const NEVER = new Promise<never>(() => {});
