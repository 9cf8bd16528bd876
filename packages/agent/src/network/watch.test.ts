import type { DnsCheck } from '@svc/shared/messages/check.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { httpCheck, outcomeOf, timedOut } from '../../../../test/support/scripted-probe.ts';
import type { ReferenceAnswer } from './references.ts';
import { NetworkWatch } from './watch.ts';

/** A watch whose references answer as the test sets it. */
function bench() {
  const clock = new FakeClock();
  const said = {
    answer: 'answered' as ReferenceAnswer,
    asked: 0,
    areKnown: true,
    goneSince: null as number | null,
    backAt: Number.NEGATIVE_INFINITY,
  };
  const watch = new NetworkWatch({
    clock,
    references: {
      get areKnown() {
        return said.areKnown;
      },
      get areSomeGone() {
        return said.goneSince !== null;
      },
      goneSince: () => said.goneSince,
      backAt: () => said.backAt,
      askReferences: async () => {
        said.asked += 1;
        if (said.answer === 'gone') said.goneSince ??= clock.monotonic();
        if (said.answer === 'answered') back();
        return said.answer;
      },
      forgetAnswers: () => {
        said.areKnown = false;
        said.goneSince = null;
      },
    },
  });
  /** Lets a reference answer in the next round. */
  const back = (): void => {
    said.answer = 'answered';
    if (said.goneSince !== null) said.backAt = clock.monotonic();
    said.goneSince = null;
  };
  /** Lets no reference answer in the next round. */
  const gone = (): void => {
    said.answer = 'gone';
    said.goneSince ??= clock.monotonic();
  };
  /**
   * Why an attempt that ends now says nothing about its target. Null: it does.
   */
  const seen = async (host: string, found = refused): Promise<NotRunReason | null> =>
    watch.seen(httpCheck(`http://${host}/`), found, clock.monotonic());
  return { clock, said, watch, seen, back, gone };
}

const refused = outcomeOf('failed', { notConnected: true });
const passed = outcomeOf('passed');
const dnsCheck = (uri: string): DnsCheck => ({
  type: 'dns',
  uri,
  record_assertions: [],
  timeout: 5_000,
  retry: 0,
  degraded_at: 0,
});
const host = (number: number): string => `h${number}.test`;

describe('a failure at connection level', () => {
  test.each([
    ['127.0.0.1', null],
    ['192.0.2.1', 'network-down'],
  ])('of a proxied attempt, whose packets to the proxy had the sender %s: %s', async (from, expected) => {
    const { seen } = bench();
    const proxyAddresses = [{ address: '127.0.0.1', family: 4, from } as const];
    expect(await seen('a.test', { ...timedOut(5_000), addresses: [], proxyAddresses })).toBe(expected);
  });

  test("is the target's while a reference answers", async () => {
    const { seen, watch } = bench();
    expect(await seen('a.test')).toBeNull();
    expect(await seen('a.test', timedOut(5_000))).toBeNull();
    expect(watch.isDown).toBe(false);
  });

  test('is ours when no reference answers any more, and several such hosts make the agent report it', async () => {
    const { seen, said, watch } = bench();
    said.answer = 'gone';
    for (let number = 0; number < 5; number += 1) expect(await seen(host(number))).toBe('network-down');
    expect(watch.isDown).toBe(true);
    said.answer = 'answered';
    expect(await seen(host(0))).toBeNull();
    await seen(host(1), passed);
    expect(watch.isDown).toBe(false);
  });

  test('is ours when the attempt began before the network was back, whatever failed before it', async () => {
    const { gone, back, watch, clock } = bench();
    const check = httpCheck('http://slow.test/');
    gone();
    clock.advance(4_000);
    const begunInVain = clock.monotonic();
    clock.advance(3_000);
    back();
    clock.advance(2_000);
    expect(await watch.seen(check, timedOut(5_000), begunInVain)).toBe('network-down');
    const begunSince = clock.monotonic();
    clock.advance(5_000);
    expect(await watch.seen(check, timedOut(5_000), begunSince)).toBeNull();
  });

  test("is the target's where no reference counts", async () => {
    const { seen, said } = bench();
    said.areKnown = false;
    expect(await seen('a.test')).toBeNull();
    expect(said.asked).toBe(0);
  });

  test('of this machine says nothing about the network', async () => {
    const { seen, said } = bench();
    said.answer = 'gone';
    for (const own of ['127.0.0.1:81', 'localhost', 'app.localhost:8080', '[::1]:80']) {
      expect(await seen(own)).toBeNull();
    }
    expect(said.asked).toBe(0);
  });
});

test('any answer of the target stands, and no reference is asked', async () => {
  const { seen, said } = bench();
  said.answer = 'gone';
  expect(await seen('a.test', passed)).toBeNull();
  expect(await seen('a.test', outcomeOf('failed', { statusCode: 503 }))).toBeNull();
  expect(await seen('a.test', outcomeOf('not_run', { reason: 'egress-denied' }))).toBeNull();
  expect(said.asked).toBe(0);
});

test('a reference that died alone hides an outage for one check, not longer', async () => {
  const { seen, said, clock } = bench();
  said.answer = 'gone';
  expect(await seen('down.test')).toBe('network-down');
  clock.advance(1_000);
  for (let number = 0; number < 9; number += 1) await seen(host(number), passed);
  clock.advance(29_000);
  expect(await seen('down.test')).toBeNull();
  // The reference no longer counts, so the network is not suspected.
  expect(await seen('other.test')).toBeNull();
});

test('a reference that died alone, long before an outage, hides it for one check as well', async () => {
  const { seen, said, clock, gone } = bench();
  gone();
  clock.advance(20_000);
  expect(await seen('down.test')).toBe('network-down');
  clock.advance(1_000);
  for (let number = 0; number < 9; number += 1) await seen(host(number), passed);
  clock.advance(29_000);
  expect(await seen('down.test')).toBeNull();
  expect(said.areKnown).toBe(false);
});

test('a reference that died alone says nothing about a host that has answered since', async () => {
  const { seen, clock, gone, watch } = bench();
  gone();
  clock.advance(20_000);
  await seen('only.test', passed);
  clock.advance(30_000);
  for (let period = 0; period < 3; period += 1) {
    expect(await seen('only.test')).toBeNull();
    clock.advance(30_000);
  }
  expect(watch.isDown).toBe(false);
});

test('the answers of known hosts count, however many hosts there are', async () => {
  const { seen, clock, gone } = bench();
  await seen('down.test');
  for (let number = 0; number < 20_000; number += 1) await seen(host(number), passed);
  gone();
  clock.advance(1_000);
  for (let number = 0; number < 20_000; number += 1) await seen(host(number), passed);
  clock.advance(1_000);
  expect(await seen(host(0))).toBeNull();
});

test('an answer of a host from before the references were gone again says nothing', async () => {
  const { seen, clock, gone, back } = bench();
  gone();
  clock.advance(20_000);
  await seen('only.test', passed);
  back();
  clock.advance(10_000);
  gone();
  clock.advance(20_000);
  expect(await seen('only.test')).toBe('network-down');
});

test('a few hosts that still answer, in the same building, do not speak for the network', async () => {
  const { seen, said, clock } = bench();
  said.answer = 'gone';
  for (let period = 0; period < 3; period += 1) {
    await seen('near.test', passed);
    for (let number = 0; number < 9; number += 1) expect(await seen(host(number))).toBe('network-down');
    clock.advance(30_000);
  }
});

test('a host that was down before the network is hidden with the others, and reported afterwards', async () => {
  const { seen, said, clock } = bench();
  expect(await seen('down.test')).toBeNull();
  for (let number = 0; number < 9; number += 1) await seen(host(number), passed);
  clock.advance(30_000);
  said.answer = 'gone';
  expect(await seen(host(0))).toBe('network-down');
  expect(await seen('down.test')).toBe('network-down');
  expect(said.areKnown).toBe(true);
  said.answer = 'answered';
  expect(await seen('down.test')).toBeNull();
});

const noRoute = outcomeOf('not_run', { reason: 'network-down' });

test('several hosts without a route or a name server mean that the network is down; one host does not', async () => {
  const { seen, clock, watch } = bench();
  await seen('a.test', noRoute);
  expect(watch.isDown).toBe(false);
  await seen('b.test', noRoute);
  expect(watch.isDown).toBe(true);
  clock.advance(10_000);
  expect(watch.isDown).toBe(false);
  await seen('a.test', noRoute);
  expect(watch.isDown).toBe(true);
  await seen('c.test', passed);
  expect(watch.isDown).toBe(false);
});

test('hosts that never have a route, while others answer, are not reported again each period', async () => {
  const { seen, clock, watch } = bench();
  const told: boolean[] = [];
  for (let period = 0; period < 5; period += 1) {
    await seen('a.test', noRoute);
    await seen('b.test', noRoute);
    told.push(watch.isDown);
    clock.advance(1_000);
    for (let number = 0; number < 9; number += 1) await seen(host(number), passed);
    expect(watch.isDown).toBe(false);
    clock.advance(29_000);
  }
  // At the first failure, no other host is known.
  expect(told).toEqual([true, false, false, false, false]);
  await seen(host(0), noRoute);
  expect(watch.isDown).toBe(false);
  await seen(host(1), noRoute);
  expect(watch.isDown).toBe(true);
});

test('a network that was back for one host only, and is gone again, is reported again', async () => {
  const { seen, clock, watch } = bench();
  const all = Array.from({ length: 9 }, (_, number) => host(number));
  for (const each of all) await seen(each, noRoute);
  clock.advance(1_000);
  await seen(host(0), passed);
  expect(watch.isDown).toBe(false);
  clock.advance(29_000);
  for (const each of all) await seen(each, noRoute);
  expect(watch.isDown).toBe(true);
});

test('an answered name says nothing about the other names', async () => {
  const { clock, watch } = bench();
  const names = ['a.test', 'b.test', 'c.test'].map((uri) => dnsCheck(uri));
  for (const name of names) watch.seen(name, noRoute, clock.monotonic());
  clock.advance(1_000);
  const [first, ...others] = names;
  if (first !== undefined) watch.seen(first, passed, clock.monotonic());
  expect(watch.isDown).toBe(true);
  for (const name of others) watch.seen(name, passed, clock.monotonic());
  expect(watch.isDown).toBe(false);
});
