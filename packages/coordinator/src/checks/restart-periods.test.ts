import type { Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { liveMonitor, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { gridSlotFrom, isOnGrid, phaseOf } from '../verdict/schedule.ts';

const [A, B, C] = THREE as [Region, Region, Region];
const MINUTE = 60_000;
let it: Recording;

beforeEach(async () => {
  it = await Recording.open();
});
afterEach(() => it.dispose());

/**
 * The newest outcome of each region with its slot, from the region's vote or from a report of an open slot.
 */
function known(): Record<string, [string, number]> {
  const state = it.states.get(1);
  const votes = [...(state?.votes ?? []), ...(state?.open.flatMap(({ reports }) => reports) ?? [])];
  return Object.fromEntries(
    votes.toSorted((a, b) => a.slot - b.slot).map(({ region, outcome, slot }) => [region, [outcome, slot]]),
  );
}

/**
 * Lets time pass until a slot of the period that does not lie on the grid of period
 * `other`, if there is such a slot.
 */
async function nextSlot(period: number, other: number): Promise<number> {
  const now = it.clock.wall();
  let slot = gridSlotFrom(now + 1, period, phaseOf(1, period));
  if (other > period && isOnGrid(1, slot, other)) slot += period;
  await it.pass(slot - now);
  return slot;
}

const restart = async () => {
  await it.recorder.stop();
  await it.restart();
};

test.each([
  { before: MINUTE / 2, after: MINUTE },
  { before: MINUTE / 2, after: 60 * MINUTE },
  { before: 5 * MINUTE, after: 10 * MINUTE },
  { before: MINUTE, after: MINUTE / 2 },
  { before: 5 * MINUTE, after: MINUTE },
])(
  'a restart after the period changed from $before to $after ms loses no vote',
  async ({ before, after }) => {
    await it.declare(liveMonitor(1, { periodMs: before }));
    it.recorder.endResumption();
    let decided = 0;
    for (let round = 0; round < 3; round += 1) {
      decided = await nextSlot(before, after);
      await it.slot(1, { [A]: 'passed', [B]: 'passed', [C]: 'degraded' });
    }
    const slot = await nextSlot(before, after);
    it.recorder.opened(liveMonitor(1, { periodMs: before }), slot, THREE);
    await it.report(1, slot, A, 'degraded');
    await it.declare(liveMonitor(1, { periodMs: after }));
    const expected = { [A]: ['degraded', slot], [B]: ['passed', decided], [C]: ['degraded', decided] };
    await restart();
    expect(known()).toEqual(expected);
    await it.report(1, slot, B, 'failed');
    await restart();
    expect(known()).toEqual({ ...expected, [B]: ['failed', slot] });
  },
);

test('a first slot, on no grid, is found again, and so are the slots on the grid after it', async () => {
  await it.declare(liveMonitor(1));
  it.recorder.endResumption();
  const first = it.clock.wall() + 7;
  expect(isOnGrid(1, first, MINUTE / 2)).toBe(false);
  it.clock.advance(7);
  for (const region of THREE) await it.report(1, first, region, 'passed');
  await restart();
  expect(known()).toEqual({ [A]: ['passed', first], [B]: ['passed', first], [C]: ['passed', first] });
  it.recorder.endResumption();
  const second = await nextSlot(MINUTE / 2, 0);
  for (const region of [A, B]) await it.report(1, second, region, 'failed');
  await restart();
  expect(known()).toEqual({ [A]: ['failed', second], [B]: ['failed', second], [C]: ['passed', first] });
});

test('after a restart each region has its newest vote, even if it did not report the newest slot', async () => {
  await it.declare(liveMonitor(1));
  it.recorder.endResumption();
  const slots: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    slots.push(await nextSlot(MINUTE / 2, 0));
    await it.slot(1, round === 1 ? { [A]: 'passed', [C]: 'passed' } : { [A]: 'passed', [B]: 'passed' });
  }
  await restart();
  expect(known()).toEqual({
    [A]: ['passed', slots[2]],
    [B]: ['passed', slots[2]],
    [C]: ['passed', slots[1]],
  });
});

test('after a kill between the row of a longer period and its effects, no vote expires early', async () => {
  await it.declare(liveMonitor(1, { periodMs: MINUTE / 2 }));
  it.recorder.endResumption();
  await nextSlot(MINUTE / 2, 0);
  await it.slot(1, { [A]: 'passed', [B]: 'passed', [C]: 'passed' });
  it.monitors.set(liveMonitor(1, { periodMs: 60 * MINUTE }));
  await it.restart();
  await it.declare(liveMonitor(1, { periodMs: 60 * MINUTE }));
  it.recorder.endResumption();
  await it.pass(60 * MINUTE);
  expect(it.status(1)).toBe('active');
});

test('after a kill between the row of other regions and its effects, no decided slot is opened again', async () => {
  await it.declare(liveMonitor(1));
  it.recorder.endResumption();
  let slot = 0;
  for (let round = 0; round < 2; round += 1) {
    slot = await nextSlot(MINUTE / 2, 0);
    it.recorder.opened(liveMonitor(1), slot, THREE);
    for (const region of [C, A, B]) await it.report(1, slot, region, 'passed');
  }
  it.monitors.set(liveMonitor(1, { regions: [C, 'hosta-lhr'] }));
  await it.restart();
  expect(it.states.get(1)).toMatchObject({ decidedSlot: slot, open: [] });
});
