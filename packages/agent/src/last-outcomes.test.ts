import type { Outcome } from '@svc/shared/messages/check-result.ts';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { LastOutcomes } from './last-outcomes.ts';

const HOUR = 3_600_000;

const found = (monitor: number, outcome: Outcome, version = 1) => ({ monitor, version, outcome });

test('a result is news when it differs from the last of its monitor and version', () => {
  const last = new LastOutcomes(new FakeClock());
  expect(last.isNews(found(1, 'failed'))).toBe(true);
  expect(last.isNews(found(1, 'passed'))).toBe(true);
  expect(last.isNews(found(1, 'passed'))).toBe(false);
  expect(last.isNews(found(2, 'degraded'))).toBe(true);
  expect(last.isNews(found(1, 'failed'))).toBe(true);
  expect(last.isNews(found(1, 'failed'))).toBe(false);
  expect(last.isNews(found(1, 'failed', 2))).toBe(true);
  expect(last.isNews(found(1, 'passed', 2))).toBe(true);
});

test('the first result of a monitor is no news where it passed', () => {
  const last = new LastOutcomes(new FakeClock());
  expect(last.isNews(found(1, 'passed'))).toBe(false);
  expect(last.isNews(found(1, 'passed', 2))).toBe(true);
});

test('not_run is never news, and the result after it is seen against the one before it', () => {
  const last = new LastOutcomes(new FakeClock());
  expect(last.isNews(found(1, 'not_run'))).toBe(false);
  expect(last.isNews(found(1, 'failed'))).toBe(true);
  expect(last.isNews(found(1, 'not_run'))).toBe(false);
  expect(last.isNews(found(1, 'failed'))).toBe(false);
});

test('a monitor is remembered over the longest period, and forgotten when it is not seen for long', () => {
  const clock = new FakeClock();
  const last = new LastOutcomes(clock);
  last.isNews(found(1, 'failed'));
  last.isNews(found(2, 'failed'));
  for (let hours = 0; hours < 5; hours += 1) {
    clock.advance(HOUR);
    expect(last.isNews(found(1, 'failed'))).toBe(false);
  }
  expect(last.isNews(found(2, 'failed'))).toBe(true);
  clock.advance(5 * HOUR);
  expect(last.isNews(found(1, 'failed'))).toBe(true);
  expect(last.size).toBe(1);
});

test('however many monitors there are, it keeps a bounded number, the latest among them', () => {
  const last = new LastOutcomes(new FakeClock(), 100);
  for (let monitor = 1; monitor <= 1_000; monitor += 1) last.isNews(found(monitor, 'failed'));
  expect(last.size).toBeLessThanOrEqual(200);
  expect(last.isNews(found(950, 'failed'))).toBe(false);
  expect(last.isNews(found(1, 'failed'))).toBe(true);
});

test('monitors of which it knows nothing take no place when they are forgotten', () => {
  const last = new LastOutcomes(new FakeClock(), 100);
  for (let monitor = 1; monitor <= 1_000; monitor += 1) last.forget(monitor);
  expect(last.size).toBe(0);
});

test('the next result of a monitor that was forgotten is news, whatever it is', () => {
  const last = new LastOutcomes(new FakeClock());
  last.isNews(found(1, 'passed'));
  last.forget(1);
  last.forget(2);
  expect(last.isNews(found(1, 'passed'))).toBe(true);
  expect(last.isNews(found(1, 'passed'))).toBe(false);
  expect(last.isNews(found(2, 'failed'))).toBe(true);
});
