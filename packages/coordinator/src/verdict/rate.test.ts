import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TokenBucket } from './rate.ts';

test('a burst at once, then as many as the rate allows', () => {
  const tokens = new TokenBucket({ perMinute: 60, burst: 3 });
  for (let sent = 0; sent < 3; sent += 1) {
    expect(tokens.availableAt(0)).toBe(0);
    tokens.takeToken(0);
  }
  expect(tokens.availableAt(0)).toBe(1_000);
  expect(tokens.availableAt(1_000)).toBe(1_000);
  tokens.takeToken(1_000);
  expect(tokens.availableAt(1_000)).toBe(2_000);
});

test('never more than the burst and the rate allow', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 600 }),
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 60 }),
      (perMinute, burst, waits) => {
        const tokens = new TokenBucket({ perMinute, burst });
        let now = 0;
        let taken = 0;
        for (const waitMs of waits) {
          now += waitMs;
          if (tokens.availableAt(now) > now) continue;
          tokens.takeToken(now);
          taken += 1;
        }
        expect(taken).toBeLessThanOrEqual(burst + (now * perMinute) / 60_000 + 1e-6);
      },
    ),
  );
});
