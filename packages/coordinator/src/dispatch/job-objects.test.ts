import { Bag } from '@svc/shared/bag.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { liveMonitor } from '../../../../test/support/coordinator/dispatch-parts.ts';
import { Job, type NewJob } from './job.ts';
import { JobObjects } from './job-objects.ts';

const newJob: fc.Arbitrary<NewJob> = fc.record({
  monitor: fc.integer({ min: 1, max: 9 }).map((id) => liveMonitor(id)),
  slot: fc.nat(),
  region: fc.constantFrom(...REGIONS),
  startAt: fc.double({ noNaN: true }),
  boundAt: fc.double({ noNaN: true }),
});

test('nothing of an ended job is left in the job that its object becomes', () => {
  fc.assert(
    fc.property(newJob, newJob, (first, second) => {
      const objects = new JobObjects();
      const job = objects.make(first);
      // Whatever its members are, so that a new one cannot be forgotten.
      const used = Object.fromEntries(Object.keys(job).map((member) => [member, `used ${member}`]));
      Object.assign(job, used, { agent: { jobs: new Bag<Job>() } });
      objects.ended(job);
      expect(objects.make(second)).toBe(job);
      expect(job).toStrictEqual(new Job(second));
      expect(objects.make(first)).not.toBe(job);
    }),
  );
});
