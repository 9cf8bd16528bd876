import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog, type TemporaryStore, temporaryStore } from '../../../../test/support/configured-store.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { errorCodeOf, insertWorkspace } from '../../../../test/support/transactions.ts';
import { LEASE_MS } from '../store/shard-lease.ts';
import { countShards } from '../store/shards.ts';
import type { Store } from '../store/store.ts';
import { Lease, RENEW_EVERY_MS, Renewals, Trust } from './lease.ts';

/** Random renewals, one after another. All times are ms of real time. */
const renewals = fc.array(
  fc.record({
    pause: fc.nat(5_000),
    toDatabase: fc.nat(5_000),
    toAnswer: fc.nat(5_000),
    isAnswered: fc.boolean(),
  }),
  { maxLength: 6 },
);
/** Speed of the holder's clock, as a multiple of real time. */
const rates = fc.double({ min: 0.9, max: 1.1, noNaN: true });

/**
 * The property that the holder never trusts an expired lease.
 *
 * @param from chooses the instant of a renewal, on the holder's clock, from which the trust is counted
 */
function neverTrustsAnExpiredLease(from: (renewal: { begunAt: number; answeredAt: number }) => number) {
  return fc.property(renewals, rates, fc.nat(6_000), (all, rate, probedAfter) => {
    const trust = new Trust();
    let now = 0;
    let leasedUntil = Number.NEGATIVE_INFINITY;
    const mayTrust = (at: number) => !trust.isTrusted(at * rate) || at < leasedUntil;
    for (const { pause, toDatabase, toAnswer, isAnswered } of all) {
      now += pause;
      if (!mayTrust(now)) return false;
      const begunAt = now * rate;
      now += toDatabase;
      if (!mayTrust(now)) return false;
      leasedUntil = now + LEASE_MS;
      now += toAnswer;
      if (!mayTrust(now)) return false;
      if (isAnswered) trust.renewed(from({ begunAt, answeredAt: now * rate }));
      if (!mayTrust(now)) return false;
    }
    return mayTrust(now + probedAfter);
  });
}

describe('the trust of a holder', () => {
  test('ends before the lease, however long the database takes to renew it and to answer', () => {
    fc.assert(
      neverTrustsAnExpiredLease(({ begunAt }) => begunAt),
      { numRuns: 2_000 },
    );
  });

  test('would outlast the lease if it counted from the answer', () => {
    const defective = neverTrustsAnExpiredLease(({ answeredAt }) => answeredAt);
    expect(fc.check(defective, { numRuns: 2_000 }).failed).toBe(true);
  });

  test('is not shortened by an answer that comes late', () => {
    const trust = new Trust();
    trust.renewed(1_000);
    trust.renewed(0);
    expect([trust.isTrusted(3_999), trust.isTrusted(4_000)]).toEqual([true, false]);
  });
});

describe('a lease', () => {
  let temporary: TemporaryStore;
  let clock: FakeClock;
  let lost: string[];
  let renewals: Renewals;

  beforeEach(async () => {
    temporary = await temporaryStore();
    clock = new FakeClock();
    renewals = new Renewals({ clock, log: silentLog });
    lost = [];
  });
  afterEach(() => temporary.dispose());

  const take = (name: string, isAlone = false, shard = 0, store: Store = temporary.store) =>
    Lease.take({
      shard,
      coordinator: name,
      store,
      isAlone,
      renewals,
      clock,
      log: silentLog,
      onLost: () => lost.push(name),
    });
  const expire = () =>
    temporary.store.commit([{ sql: 'UPDATE shards SET expires_at = database_now() - 1', rows: [[]] }]);
  /** Resolves when the store has written all that it was given before the call. */
  const written = () => temporary.store.transaction(() => {});

  test('is trusted while it is renewed, and not for long after', async () => {
    const lease = await take('a');
    for (let time = 0; time < 10; time += 1) {
      clock.advance(RENEW_EVERY_MS);
      await written();
      expect(lease?.isTrusted()).toBe(true);
    }
    await lease?.resign();
    expect(lease?.isTrusted()).toBe(false);
  });

  test('is not trusted by a holder that was frozen, until it has asked again', async () => {
    const lease = await take('a');
    clock.stepBoth(30_000);
    expect(lease?.isTrusted()).toBe(false);
    await lease?.store.renew();
    expect(lease?.isTrusted()).toBe(true);
    await lease?.resign();
  });

  test('that another one took is lost with the next write, once', async () => {
    const lease = await take('a');
    await expire();
    const other = await take('b');
    expect(other).not.toBeNull();
    for (let time = 0; time < 2; time += 1) {
      expect(await errorCodeOf(lease?.store.transaction(insertWorkspace('w')) ?? Promise.resolve())).toBe(
        'not-leading',
      );
    }
    expect([lost, lease?.isTrusted(), other?.isTrusted()]).toEqual([['a'], false, true]);
    await lease?.resign();
    expect(await take('c')).toBeNull();
    await other?.resign();
    const third = await take('c');
    expect(third).not.toBeNull();
    await third?.resign();
  });

  test('of one of many shards is renewed in the transaction that renews the others, until it is lost', async () => {
    const { store } = temporary;
    await countShards(store, 3);
    let transactions = 0;
    const counted: Store = {
      read: store.read,
      work: store.work,
      declarations: 0,
      transaction: (work) => store.transaction(work),
      declare: (work) => store.declare(work),
      commit: (steps) => {
        transactions += 1;
        return store.commit(steps);
      },
      close: () => store.close(),
    };
    const leases = [];
    for (const shard of [0, 1, 2]) leases.push(await take(`a of ${shard}`, false, shard, counted));
    await store.commit([{ sql: 'UPDATE shards SET expires_at = 0 WHERE id = 1', rows: [[]] }]);
    const other = await take('b of 1', false, 1);
    transactions = 0;
    for (let time = 0; time < 5; time += 1) {
      clock.advance(RENEW_EVERY_MS);
      await written();
    }
    expect(transactions).toBe(5);
    expect(lost).toEqual(['a of 1']);
    expect(leases.map((lease) => lease?.isTrusted())).toEqual([true, false, true]);
    for (const lease of [...leases, other]) await lease?.resign();
    clock.advance(RENEW_EVERY_MS);
    expect(transactions).toBe(7);
  });

  test('of the only coordinator of a database needs no renewal', async () => {
    const former = await take('a');
    const lease = await take('b', true);
    clock.advance(3_600_000);
    expect([former?.isTrusted(), lease?.isTrusted()]).toEqual([false, true]);
    await lease?.resign();
    await former?.resign();
  });
});
