import { expect, test } from 'vitest';
import { onAbort } from './on-abort.ts';

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

test('an unregistered task does not run, and unregistering twice harms nobody', () => {
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

test('a signal that has aborted runs the task at once, none at all never does', () => {
  const ran: string[] = [];
  onAbort(AbortSignal.abort(), () => ran.push('at once'));
  onAbort(undefined, () => ran.push('never'))();
  expect(ran).toEqual(['at once']);
});
