import { DISPATCH_COUNTERS, type DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import { createTotals } from '@svc/shared/metrics/values.ts';
import type { Region } from '@svc/shared/regions.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { FRA, KeptSlots, liveMonitor, PAR } from '../../../../test/support/coordinator/dispatch-parts.ts';
import { type Job, OpenJobs } from './open-jobs.ts';

/** The slot (epoch ms). Its instant is 0 on the monotonic clock. */
const SLOT = 1_000_000;
/** The check of this monitor takes 1 s at most, so a region is silent 11 s after the slot. */
const MONITOR = liveMonitor(1, { regions: [FRA, PAR] });

let jobs: OpenJobs;
let sink: KeptSlots;
let counters: DispatchCounters;
let live: Set<Region>;
let unread: Set<Region>;
let isBehind: boolean;

beforeEach(() => {
  sink = new KeptSlots();
  counters = createTotals(DISPATCH_COUNTERS);
  live = new Set([FRA, PAR]);
  unread = new Set();
  isBehind = false;
  jobs = new OpenJobs({
    events: sink,
    counters,
    isLive: (region) => live.has(region),
    readerCaughtUp: (region) => !unread.has(region),
    isBehind: () => isBehind,
  });
});

/** Publishes the waiting jobs of the region, and returns them. */
function publish(now: number, region: Region = FRA): Job[] {
  const taken = jobs.takeQueuedJobs(region, now);
  for (const job of taken) jobs.jobPublished(job, now);
  return taken;
}

function ask(monitor = MONITOR, region: Region = FRA): void {
  jobs.openJob(monitor, SLOT, region, 0, 0);
  publish(0, region);
}

describe('a region that is silent', () => {
  test('when its longest check and 10 s are over is asked once more, then it abstains', () => {
    ask();
    jobs.judgeSilentJobs(10_999);
    expect(jobs.takeQueuedJobs(FRA, 10_999)).toEqual([]);
    jobs.judgeSilentJobs(11_000);
    expect(publish(11_000)).toMatchObject([{ slot: SLOT, startAt: 11_000, startBy: 21_000 }]);
    expect(counters.asked).toEqual({ first: 1, again: 1 });
    jobs.judgeSilentJobs(21_999);
    expect(sink.abstentions).toEqual([]);
    jobs.judgeSilentJobs(22_000);
    expect(sink.abstentions).toEqual([{ id: 1, slot: SLOT, region: FRA, reason: 'job-lost' }]);
    expect(jobs.size).toBe(0);
  });

  test('abstains when less than half of the period is left', () => {
    ask({ ...MONITOR, longestCheckMs: 5_001 });
    jobs.judgeSilentJobs(15_001);
    expect(sink.abstentions).toMatchObject([{ region: FRA, reason: 'job-lost' }]);
  });

  test('abstains when it has no agent', () => {
    ask();
    live.delete(FRA);
    jobs.judgeSilentJobs(11_000);
    expect(sink.abstentions).toMatchObject([{ region: FRA, reason: 'job-lost' }]);
  });

  test('is not silent while its results are unread; another region is', () => {
    ask();
    ask(MONITOR, PAR);
    unread.add(FRA);
    jobs.judgeSilentJobs(11_000);
    expect([publish(11_000), publish(11_000, PAR)].map(({ length }) => length)).toEqual([0, 1]);
    unread.clear();
    jobs.resultArrived(1, SLOT, FRA);
    jobs.judgeSilentJobs(12_000);
    expect(jobs.get(1, FRA)).toBeUndefined();
    expect(sink.abstentions).toEqual([]);
  });

  test('is judged at once when its agent or the connection is gone', () => {
    ask();
    ask(MONITOR, PAR);
    jobs.loseJobs(FRA, 2_000);
    jobs.judgeSilentJobs(2_000);
    expect([publish(2_000), publish(2_000, PAR)].map(({ length }) => length)).toEqual([1, 0]);
  });
});

describe('a job that is given back', () => {
  test('is sent once more, and only one answer is awaited', () => {
    ask();
    expect(jobs.isAskedAgain(1, SLOT, FRA, 3_000)).toBe(true);
    jobs.jobGivenBack(1, SLOT, FRA, 3_000);
    expect(publish(3_000)).toMatchObject([{ slot: SLOT, isAskedAgain: true }]);
    expect(jobs.isAskedAgain(1, SLOT, FRA, 4_000)).toBe(false);
    // The job is given back a second time, as when a batch is recorded again.
    jobs.jobGivenBack(1, SLOT, FRA, 4_000);
    expect(publish(4_000)).toEqual([]);
    expect(sink.abstentions).toEqual([]);
  });

  test('is given up when the return is recorded too late', () => {
    ask();
    jobs.jobGivenBack(1, SLOT, FRA, 15_001);
    expect(sink.abstentions).toEqual([{ id: 1, slot: SLOT, region: FRA, reason: 'job-lost' }]);
  });

  test('changes nothing if it is not the job that the region was asked last', () => {
    ask();
    expect(jobs.isAskedAgain(1, SLOT - 30_000, FRA, 0)).toBe(false);
    jobs.jobGivenBack(1, SLOT - 30_000, FRA, 0);
    jobs.jobGivenBack(2, SLOT, FRA, 0);
    expect(jobs.size).toBe(1);
  });
});

describe('a check runs', () => {
  test('until its region has answered, or is silent', () => {
    ask();
    expect([jobs.isRunning(1, FRA, 10_999), jobs.isRunning(1, FRA, 11_000)]).toEqual([true, false]);
    jobs.answerRecorded(1, SLOT, FRA);
    expect(jobs.isRunning(1, FRA, 1)).toBe(false);
  });

  test('but delays no later slot while the recording is behind, because its end may not be known yet', () => {
    ask();
    isBehind = true;
    expect(jobs.isRunning(1, FRA, 1)).toBe(false);
    jobs.openJob(MONITOR, SLOT + 30_000, FRA, 30_000, 29_800);
    jobs.resultArrived(1, SLOT, FRA);
    expect(jobs.get(1, FRA)?.slot).toBe(SLOT + 30_000);
    expect(sink.abstentions).toEqual([]);
  });

  test('no longer after its job was withdrawn', () => {
    ask();
    jobs.withdrawJob(1, FRA);
    expect(jobs.isRunning(1, FRA, 1)).toBe(false);
    jobs.judgeSilentJobs(60_000);
    expect(sink.abstentions).toEqual([]);
  });
});

test('a region that has reported the slot before it was asked is not asked', () => {
  jobs.resultArrived(1, SLOT, FRA);
  jobs.openJob(MONITOR, SLOT, FRA, 0, 0);
  jobs.openJob(MONITOR, SLOT, PAR, 0, 0);
  expect([publish(0), publish(0, PAR)].map(({ length }) => length)).toEqual([0, 1]);
});

test('a job waits for the connection as long as its check may begin', () => {
  jobs.openJob(MONITOR, SLOT, FRA, 400, 0);
  const taken = jobs.takeQueuedJobs(FRA, 0);
  expect(taken).toHaveLength(1);
  jobs.putBackJobs(taken);
  expect(jobs.takeQueuedJobs(FRA, 10_400)).toEqual([]);
  expect(sink.abstentions).toEqual([{ id: 1, slot: SLOT, region: FRA, reason: 'no-agent' }]);
});

test('the region of a job that cannot be published abstains', () => {
  jobs.openJob(MONITOR, SLOT, FRA, 0, 0);
  for (const job of jobs.takeQueuedJobs(FRA, 0)) jobs.giveUpUnpublishable(job);
  expect(sink.abstentions).toMatchObject([{ reason: 'internal-error' }]);
  expect(jobs.size).toBe(0);
});
