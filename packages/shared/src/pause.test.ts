import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { pause } from './pause.ts';

test('ends when its time is over', async () => {
  const clock = new FakeClock();
  let isOver = false;
  const pausing = pause(clock, 50, new AbortController().signal).then(() => {
    isOver = true;
  });
  await clock.advanceSettling(49);
  expect(isOver).toBe(false);
  await clock.advanceSettling(1);
  await pausing;
  expect(isOver).toBe(true);
});

test('ends with its signal, and leaves no timer', async () => {
  const clock = new FakeClock();
  const stopping = new AbortController();
  const pausing = pause(clock, 50, stopping.signal);
  stopping.abort();
  await pausing;
  expect(clock.pendingTimers).toBe(0);
});

test('does not begin when its signal has aborted', async () => {
  const clock = new FakeClock();
  await pause(clock, 50, AbortSignal.abort());
  expect(clock.pendingTimers).toBe(0);
});

test('one signal serves many pauses with one listener', async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  for (let round = 0; round < 20; round += 1) {
    const pausing = pause(clock, 5, signal);
    await clock.advanceSettling(5);
    await pausing;
  }
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
});
