import type { Outcome } from '@svc/shared/messages/check-result.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import { expect, test } from 'vitest';
import { KeptOutcomes } from './kept-results.ts';

test('every monitor, slot and region has an outcome of its own', () => {
  const kept = new KeptOutcomes();
  const keys = [1, 2, 33].flatMap((monitor) =>
    [1_000, 2_000].flatMap((slot) => REGIONS.map((region) => ({ monitor, slot, region }))),
  );
  const outcomeOf = (index: number): Outcome => (index % 3 === 0 ? 'failed' : 'passed');
  for (const [index, { monitor, slot, region }] of keys.entries()) {
    expect(kept.of(monitor, slot, region)).toBeUndefined();
    kept.set(monitor, slot, region, outcomeOf(index));
  }
  expect(keys.map(({ monitor, slot, region }) => kept.of(monitor, slot, region))).toEqual(
    keys.map((_, index) => outcomeOf(index)),
  );
});
