import { expect, test } from 'vitest';
import { noLocalRoute } from './local-route.ts';

test('where there is a route to one of the addresses the failure is not ours', async () => {
  expect(await noLocalRoute([{ address: '127.0.0.1', family: 4 }])).toBeNull();
  expect(
    await noLocalRoute([
      { address: '255.255.255.255', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ]),
  ).toBeNull();
});

test('an address that the kernel refuses to look up has none', async () => {
  // Broadcast without SO_BROADCAST: refused as a missing route is, on every machine.
  expect(await noLocalRoute([{ address: '255.255.255.255', family: 4 }])).toEqual({
    reason: 'network-down',
    message: "the agent's machine has no route to 255.255.255.255",
  });
});
