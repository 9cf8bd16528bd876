import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FinishedJobs } from './finished-jobs.ts';

const NOW = 1_795_000_000_000;

test('knows the jobs that were added, and no others', () => {
  const monitor = fc.oneof(
    fc.integer({ min: 1, max: 5 }),
    fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  );
  const slot = fc.oneof(
    fc.integer({ min: 0, max: 5 }).map((each) => NOW + each * 30_000),
    fc.constantFrom(NOW - 2 ** 31 - 1, NOW - 2 ** 31, NOW + 2 ** 31 - 1, NOW + 2 ** 31, NOW + 2 ** 32),
    fc.maxSafeNat(),
  );
  const job = fc.tuple(monitor, slot);
  fc.assert(
    fc.property(fc.array(job), fc.array(job), (added, asked) => {
      const jobs = new FinishedJobs();
      for (const [ofMonitor, at] of added) jobs.add(ofMonitor, at);
      const known = new Set(added.map(String));
      expect(jobs.size).toBe(known.size);
      for (const [ofMonitor, at] of [...added, ...asked])
        expect(jobs.has(ofMonitor, at)).toBe(known.has(String([ofMonitor, at])));
    }),
  );
});
