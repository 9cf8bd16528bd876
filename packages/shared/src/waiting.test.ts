import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { onAbort, pause } from './waiting.ts';

test('tasks run once when the signal aborts, each registration by itself', () => {
  const controller = new AbortController();
  const ran: string[] = [];
  const first = () => ran.push('first');
  onAbort(controller.signal, first);
  onAbort(controller.signal, first);
  onAbort(controller.signal, () => ran.push('second'));
  controller.abort();
  controller.abort();
  expect(ran.toSorted()).toEqual(['first', 'first', 'second']);
});

test('an unregistered task does not run, and may be unregistered twice', () => {
  const controller = new AbortController();
  const ran: string[] = [];
  const unregister = onAbort(controller.signal, () => ran.push('gone'));
  onAbort(controller.signal, () => ran.push('stays'));
  unregister();
  unregister();
  controller.abort();
  expect(ran).toEqual(['stays']);
});

test('a task may unregister the others while they run', () => {
  const controller = new AbortController();
  const ran: string[] = [];
  const unregister: (() => void)[] = [];
  for (const name of ['one', 'two', 'three']) {
    unregister.push(
      onAbort(controller.signal, () => {
        ran.push(name);
        for (const one of unregister) one();
      }),
    );
  }
  controller.abort();
  expect(ran).toHaveLength(1);
});

test('an aborted signal runs the task at once; without a signal it never runs', () => {
  const ran: string[] = [];
  onAbort(AbortSignal.abort(), () => ran.push('at once'));
  onAbort(undefined, () => ran.push('never'))();
  expect(ran).toEqual(['at once']);
});

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
