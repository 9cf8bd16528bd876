import { expect, test } from 'vitest';
import { ScaledClock } from './support/scaled-clock.ts';

const SCALE = 10;

/** As a machine does that gives this process no CPU. */
function hold(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('no time passes while the process is held', () => {
  const clock = new ScaledClock(SCALE);
  const before = clock.monotonic();
  hold(500);
  expect(clock.monotonic() - before).toBeLessThanOrEqual(SCALE * 15);
});

test('a timer is never early, also when the process was held meanwhile', async () => {
  const clock = new ScaledClock(SCALE);
  const before = clock.monotonic();
  const passed = new Promise<number>((resolve) => clock.after(2_000, () => resolve(clock.monotonic())));
  hold(500);
  expect((await passed) - before).toBeGreaterThanOrEqual(2_000);
});

test('at another speed, timers that wait are as fast', async () => {
  const clock = new ScaledClock(1e-6);
  const before = clock.monotonic();
  const passed = new Promise<number>((resolve) => clock.after(2_000, () => resolve(clock.monotonic())));
  clock.runAt(SCALE);
  const atEnd = await passed;
  expect(atEnd - before).toBeGreaterThanOrEqual(2_000);
  clock.runAt(1e-6);
  hold(20);
  expect(clock.monotonic() - atEnd).toBeLessThan(SCALE * 25);
});

test('a timer that repeats does so until it is cancelled', async () => {
  const clock = new ScaledClock(SCALE);
  let times = 0;
  await new Promise<void>((resolve) => {
    const cancel = clock.every(100, () => {
      times += 1;
      if (times < 3) return;
      cancel();
      resolve();
    });
  });
  await new Promise<void>((resolve) => clock.after(1_000, resolve));
  expect(times).toBe(3);
});
