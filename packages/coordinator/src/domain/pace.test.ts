import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Pace } from './pace.ts';
import { type Rate, TokenBucket } from './rate.ts';

/** A receiver that takes alerts at a rate, and names whole seconds to wait, as most do. */
class Receiver {
  readonly #tokens: TokenBucket;
  requests = 0;
  taken = 0;

  constructor(rate: Rate) {
    this.#tokens = new TokenBucket(rate);
  }

  /** The wait that it asks for, ms; null: it took the alert. */
  receive(now: number): number | null {
    this.requests += 1;
    const waitMs = this.#tokens.availableAt(now) - now;
    if (waitMs > 0) return Math.ceil(waitMs / 1_000) * 1_000;
    this.#tokens.take(now);
    this.taken += 1;
    return null;
  }
}

/** Sends alerts one after the other; answers when the last one was taken, ms. */
function sendAll(receiver: Receiver, alerts: number, random: number): number {
  const pace = new Pace();
  let now = 0;
  while (receiver.taken < alerts) {
    now = Math.max(now, pace.readyAt(now));
    pace.started(now);
    const askedMs = receiver.receive(now);
    if (askedMs === null) pace.taken(now, now);
    else pace.refused(now, now, askedMs, random);
  }
  return now;
}

describe('a receiver of one alert a second', () => {
  test('gets 60 alerts in a minute and hardly more than 60 requests', () => {
    const receiver = new Receiver({ perMinute: 60, burst: 1 });
    expect(sendAll(receiver, 60, 0.5)).toBeLessThan(59_000 * 1.1);
    expect(receiver.requests).toBeLessThanOrEqual(64);
  });

  test('is hardly asked too early where the way to it takes now long, now short', () => {
    const receiver = new Receiver({ perMinute: 60, burst: 1 });
    const pace = new Pace();
    let now = 0;
    for (let turn = 0; receiver.taken < 60; turn += 1) {
      now = Math.max(now, pace.readyAt(now));
      const startedAt = now;
      pace.started(startedAt);
      now += turn % 2 === 0 ? 45 : 2;
      const askedMs = receiver.receive(now);
      if (askedMs === null) pace.taken(now, startedAt);
      else pace.refused(now, startedAt, askedMs, 0.5);
    }
    expect(now).toBeLessThan(59_000 * 1.1);
    expect(receiver.requests).toBeLessThanOrEqual(62);
  });

  test('is not asked earlier because of a turn in which nothing was sent', () => {
    const pace = new Pace();
    pace.started(0);
    pace.refused(0, 0, 1_000, 0);
    pace.started(1_000);
    pace.taken(1_000, 1_000);
    const next = pace.readyAt(1_001);
    expect(next).toBeGreaterThan(2_000);
    pace.started(next);
    pace.givenBack();
    expect(pace.readyAt(1_002)).toBe(next);
  });

  test('gets 1,000 alerts within 10 % of the least time, whatever the spread', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.integer({ min: 1, max: 10 }),
        (random, burst) => {
          const receiver = new Receiver({ perMinute: 60, burst });
          const least = (1_000 - burst) * 1_000;
          expect(sendAll(receiver, 1_000, random)).toBeLessThan(least * 1.1);
        },
      ),
    );
  });
});

describe('a refusal', () => {
  test('holds for as long as was asked, and for a spread on top, an hour at most', () => {
    const pace = new Pace();
    pace.refused(1_000, 1_000, 10_000, 0);
    expect(pace.readyAt(1_000)).toBe(11_000);
    pace.reset();
    pace.hold(1_000, 10_000, 0.999_999);
    expect(pace.readyAt(1_000)).toBeCloseTo(11_500, 0);
    pace.hold(1_000, 10 * 3_600_000, 0);
    expect(pace.readyAt(1_000)).toBe(3_601_000);
  });

  test('without a wait holds for a second, then for twice as long each time, a minute at most', () => {
    const pace = new Pace();
    const waits: number[] = [];
    for (let now = 0; waits.length < 8; now = pace.readyAt(now)) {
      pace.refused(now, now, undefined, 0);
      waits.push(pace.readyAt(now) - now);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000));
  });

  test('of several at once counts as one', () => {
    const pace = new Pace();
    for (let index = 0; index < 8; index += 1) pace.refused(10, 0, undefined, 0);
    expect(pace.readyAt(10)).toBe(1_010);
  });

  test('spaces later sends, by half as much after each minute without one', () => {
    const pace = new Pace();
    pace.refused(0, 0, 1_000, 0);
    pace.started(1_000);
    expect(pace.readyAt(1_000)).toBe(2_020);
    pace.started(60_000);
    expect(pace.readyAt(60_000)).toBe(60_510);
    pace.started(600_000);
    expect(pace.readyAt(600_000)).toBe(600_000);
  });
});
