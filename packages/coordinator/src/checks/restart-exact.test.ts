import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { liveMonitor, PERIOD, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';

const [A, B, C] = THREE as [Region, Region, Region];
const HOUR = 3_600_000;
let it: Recording;

beforeEach(async () => {
  it = await Recording.open();
  await it.declare(liveMonitor(1));
  it.recorder.endResumption();
});
afterEach(() => it.dispose());

async function restart(): Promise<void> {
  await it.recorder.stop();
  await it.restart();
}

function opened(): number {
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  return slot;
}

async function period(outcome: Outcome): Promise<number> {
  const slot = await it.slot(1, { [A]: outcome, [B]: outcome, [C]: outcome });
  await it.pass(PERIOD);
  return slot;
}

/** Parts of the state on which later verdicts depend. */
function known() {
  const { status, decidedSlot, floorSlot, entered, votes, open } = it.states.get(1) ?? {};
  const reports = open?.map(({ slot, reports }) => [
    slot,
    reports.map(({ region, outcome }) => [region, outcome]),
  ]);
  const ofRegions = votes?.toSorted((a, b) => (a.region < b.region ? -1 : 1));
  return { status, decidedSlot, floorSlot, entered, votes: ofRegions, reports };
}

describe('a restart knows what was known before:', () => {
  test.each<{ title: string; story: () => Promise<void> }>([
    {
      title: 'a slot that was decided some time after its first report',
      story: async () => {
        const slot = opened();
        await it.report(1, slot, A, 'failed');
        await it.pass(9_000);
        await it.report(1, slot, B, 'passed');
        await it.pass(4_000);
        await it.report(1, slot, C, 'passed');
      },
    },
    {
      title: 'a slot that was decided because its period was over',
      story: async () => {
        const slot = opened();
        await it.report(1, slot, A, 'failed');
        await it.pass(PERIOD + 5_000);
      },
    },
    {
      title: 'a report that came after the decision of its slot',
      story: async () => {
        const slot = opened();
        for (const region of [A, B]) await it.report(1, slot, region, 'passed');
        await it.pass(11_000);
        await it.report(1, slot, C, 'failed');
      },
    },
    {
      title: 'a failure after a pass whose vote had expired',
      story: async () => {
        for (let round = 0; round < 4; round += 1) {
          await it.slot(1, { [A]: 'passed', [B]: 'passed' });
          await it.pass(PERIOD);
        }
        await it.slot(1, { [A]: 'passed', [B]: 'passed', [C]: 'failed' });
      },
    },
    {
      title: 'a failure whose vote has expired, as the votes of the other regions have',
      story: async () => {
        await it.slot(1, { [A]: 'passed', [B]: 'passed', [C]: 'failed' });
        await it.pass(10 * PERIOD);
      },
    },
    {
      title: 'an open slot that is older than a decided one',
      story: async () => {
        const slot = opened();
        await it.report(1, slot, A, 'failed');
        await it.pass(PERIOD / 2);
        const newer = opened();
        await it.report(1, newer, B, 'passed');
        for (const region of [A, C]) await it.skip(1, newer, region);
      },
    },
    {
      title: 'a late failure that belongs to a run, and a late pass that breaks one',
      story: async () => {
        const first = it.clock.wall();
        await it.pass(PERIOD);
        const second = it.clock.wall();
        await it.pass(PERIOD);
        await it.slot(1, { [A]: 'failed', [B]: 'failed', [C]: 'passed' });
        await it.pass(1_000);
        await it.report(1, second, A, 'failed');
        await it.report(1, first, A, 'passed');
        await it.report(1, second, B, 'passed');
      },
    },
  ])('$title', async ({ story }) => {
    await period('passed');
    await story();
    await it.recorder.flushed();
    const before = known();
    await restart();
    expect(known()).toEqual(before);
  });
});

describe('an expired vote stays expired under a longer period', () => {
  test.each([{ isRestarted: false }, { isRestarted: true }])(
    'restarted: $isRestarted',
    async ({ isRestarted }) => {
      await period('passed');
      await it.pass(4 * PERIOD);
      expect(it.status(1)).toBe('unknown');
      const longer = liveMonitor(1, { periodMs: HOUR });
      await it.declare(longer);
      if (isRestarted) {
        await restart();
        it.recorder.endResumption();
      }
      const slot = it.clock.wall();
      it.recorder.opened(longer, slot, THREE);
      for (const region of [B, C]) await it.skip(1, slot, region);
      await it.report(1, slot, A, 'passed');
      expect(it.status(1)).toBe('unknown');
    },
  );
});

describe('late reports and runs of failures', () => {
  test('failures of a majority about one slot make an error although one of the regions has failed in a newer slot too', async () => {
    const slot = opened();
    await it.report(1, slot, A, 'failed');
    await it.pass(PERIOD / 2);
    const newer = opened();
    for (const region of [B, C]) await it.skip(1, newer, region);
    await it.report(1, newer, A, 'failed');
    expect(it.status(1)).toBe('unknown');
    await it.report(1, slot, B, 'failed');
    expect(it.status(1)).toBe('error');
  });

  test("failures on both sides of a pass that was reported late share no moment with another region's failure", async () => {
    await period('passed');
    await it.slot(1, { [A]: 'failed', [B]: 'passed', [C]: 'passed' });
    await it.pass(PERIOD);
    const between = it.clock.wall();
    await it.pass(PERIOD);
    await it.slot(1, { [A]: 'failed', [C]: 'passed' });
    await it.report(1, between, A, 'passed');
    await it.report(1, between, B, 'failed');
    expect(it.states.get(1)).toMatchObject({ status: 'active', reason: 'failures-apart' });
  });

  test('an old failure is no part of a run', async () => {
    await period('passed');
    await it.slot(1, { [A]: 'failed', [B]: 'passed', [C]: 'passed' });
    for (let round = 0; round < 40; round += 1) {
      await it.pass(PERIOD);
      await it.slot(1, { [B]: round === 38 ? 'failed' : 'passed', [C]: 'passed' });
      if (round === 38) break;
    }
    await it.pass(PERIOD);
    await it.slot(1, { [A]: 'failed', [C]: 'passed' });
    expect(it.states.get(1)).toMatchObject({ status: 'active', reason: 'failures-apart' });
  });
});
