import type { Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { liveMonitor, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { settle } from '../../../../test/support/fake-clock.ts';
import type { RecordedResult } from './result-feed.ts';

const [A, B] = THREE as [Region, Region, Region];

let it: Recording;

beforeEach(async () => {
  it = await Recording.open();
  await it.declare(liveMonitor(1));
  it.recorder.endResumption();
});

afterEach(() => it.dispose());

test('listeners get each result with its monitor and region, and whether it is new', async () => {
  const heard: RecordedResult[] = [];
  it.recorder.feed.onResults((results) => heard.push(...results));
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  await it.report(1, slot, A, 'passed');
  await it.report(1, slot, A, 'passed');
  await it.report(1, slot, B, { outcome: 'not_run', reason: 'overloaded' });
  await settle();
  expect(heard.map(({ monitor, region, isNew }) => [monitor.name, region, isNew])).toEqual([
    ['Monitor 1', A, true],
    ['Monitor 1', A, false],
    ['Monitor 1', B, true],
  ]);
  expect(heard[0]?.result).toMatchObject({ slot, outcome: 'passed' });
});

test('a listener is called after all steps that follow the commit; one that throws does not disturb another', async () => {
  const heard: string[] = [];
  it.recorder.feed.onResults(() => {
    throw new Error('a defect of the listener');
  });
  const stop = it.recorder.feed.onResults((results) => heard.push(...results.map(({ region }) => region)));
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, [A]);
  const heardAtChange: string[][] = [];
  // Listeners of changes are called after the results were handed to the feed.
  it.recorder.onTransition(() => heardAtChange.push([...heard]));
  await it.report(1, slot, A, 'passed');
  await settle();
  expect(heardAtChange).toEqual([[]]);
  expect(heard).toEqual([A]);
  stop();
  await it.report(1, slot, B, 'passed');
  await settle();
  expect(heard).toEqual([A]);
  expect(it.recorder.counts.results).toBe(2);
});
