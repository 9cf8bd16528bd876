import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FULL_ALERT } from '../../../../test/support/channel-sending.ts';
import { newDelivery } from '../../../../test/support/coordinator/new-delivery.ts';
import { attemptEntry, attemptStep, leftOut, reasonOf, testedState } from './attempts.ts';
import { FAILURE_REASONS, type SendResult } from './channel.ts';

const NOW = 1_767_225_600_000;
const step = (result: SendResult, changes: Partial<Parameters<typeof attemptStep>[0]> = {}) =>
  attemptStep({
    delivery: newDelivery(),
    at: NOW,
    durationMs: 12.5,
    result,
    nextAttemptAt: null,
    ...changes,
  });

const DELIVERED: SendResult = { outcome: 'delivered', statusCode: 200 };

describe('why an attempt failed', () => {
  test.each<[SendResult, ReturnType<typeof reasonOf>]>([
    [DELIVERED, null],
    [{ outcome: 'retry', error: 'a' }, 'unanswered'],
    [{ outcome: 'retry', error: 'a', statusCode: 429 }, 'rate-limited'],
    [{ outcome: 'retry', error: 'a', statusCode: 428 }, 'refused'],
    [{ outcome: 'retry', error: 'a', statusCode: 499 }, 'refused'],
    [{ outcome: 'retry', error: 'a', statusCode: 500 }, 'receiver'],
    [{ outcome: 'permanent-message', error: 'a', statusCode: 400 }, 'refused'],
    [{ outcome: 'permanent-channel', error: 'a', statusCode: 404 }, 'refused'],
    [{ outcome: 'not-sent', error: 'a' }, 'own'],
    [{ outcome: 'not-sent', error: 'a', statusCode: 500 }, 'own'],
  ])('%j: %s', (result, reason) => {
    expect(reasonOf(result)).toBe(reason);
  });

  test.each(FAILURE_REASONS)('a reason that the channel gives stands: %s', (reason) => {
    expect(reasonOf({ outcome: 'retry', error: 'a', statusCode: 503, reason })).toBe(reason);
    expect(reasonOf({ outcome: 'not-sent', error: 'a', reason })).toBe(reason);
  });
});

describe('what an attempt leaves', () => {
  test.each<[string, SendResult, number | null, object]>([
    [
      'delivered',
      DELIVERED,
      null,
      { state: 'delivered', error: null, channel: { state: 'ok', reason: null } },
    ],
    [
      'failed, and tried again',
      { outcome: 'retry', error: 'down', statusCode: 503 },
      NOW + 1,
      {
        state: 'pending',
        error: 'down',
        nextAttemptAt: NOW + 1,
        channel: { state: 'failing', reason: 'down' },
      },
    ],
    [
      'failed, and given up',
      { outcome: 'retry', error: 'down', statusCode: 503 },
      null,
      { state: 'dead', error: 'down', channel: { state: 'failing', reason: 'down' } },
    ],
    // The receiver only takes it later.
    [
      'told to wait',
      { outcome: 'retry', error: 'slow', statusCode: 429 },
      NOW + 1,
      { state: 'pending', channel: null },
    ],
    // The message is to blame.
    [
      'refused for its content',
      { outcome: 'permanent-message', error: 'bad', statusCode: 400 },
      null,
      { state: 'dead', error: 'bad', channel: null },
    ],
    [
      'a dead address',
      { outcome: 'permanent-channel', error: 'gone', statusCode: 410 },
      null,
      { state: 'dead', channel: { state: 'stopped', reason: 'gone' } },
    ],
    [
      'not sent',
      { outcome: 'not-sent', error: 'own' },
      NOW + 1,
      { state: 'pending', attempt: null, channel: { state: 'failing', reason: 'own' } },
    ],
  ])('%s', (_name, result, nextAttemptAt, expected) => {
    expect(step(result, { nextAttemptAt })).toMatchObject({ deliveryId: 7, ...expected });
  });

  test('an attempt has the next number; what was not sent is none', () => {
    const delivery = newDelivery({ attempts: 4 });
    expect(step(DELIVERED, { delivery }).attempt).toMatchObject({
      deliveryId: 7,
      number: 5,
      durationMs: 12.5,
    });
    expect(step({ outcome: 'not-sent', error: 'a' }, { delivery }).attempt).toBeNull();
  });

  test('a replay that is delivered takes up a channel that is stopped, as a test does', () => {
    const delivery = newDelivery({ replayedAt: NOW });
    expect(step(DELIVERED, { delivery }).channel).toEqual({ state: 'taken-up', reason: null });
    expect(testedState(DELIVERED)).toEqual({ state: 'taken-up', reason: null });
    const gone: SendResult = { outcome: 'permanent-channel', error: 'gone' };
    expect(step(gone, { delivery }).channel).toEqual({ state: 'stopped', reason: 'gone' });
  });

  test('what the kind keeps is kept only of what was delivered', () => {
    expect(step({ ...DELIVERED, kept: 'a' }).kept).toBe('a');
    expect(step(DELIVERED).kept).toBeNull();
    expect(step({ outcome: 'retry', error: 'a' }).kept).toBeNull();
  });
});

describe('what the channel knows of the incident', () => {
  const { incident } = FULL_ALERT;
  const unanswered: SendResult = { outcome: 'retry', error: 'no answer' };

  test.each<[string, SendResult, object, object | null]>([
    ['delivered, with a thread', { ...DELIVERED, thread: 't' }, {}, { incident, thread: 't' }],
    ['delivered', DELIVERED, {}, { incident, thread: null }],
    ['perhaps, where nobody answered', unanswered, {}, { incident, thread: null }],
    ['as before, where it was told before', unanswered, { isAnnounced: true }, null],
    ['nothing, where it was refused', { outcome: 'retry', error: 'a', statusCode: 503 }, {}, null],
    ['nothing, where svc cannot read the alert', DELIVERED, { alert: null }, null],
  ])('%s', (_name, result, changes, announced) => {
    expect(step(result, { delivery: newDelivery(changes) }).announced).toEqual(announced);
  });

  test.each([
    ['unanswered and tried again', unanswered, NOW, true],
    ['unanswered and given up', unanswered, null, false],
    ['refused and tried again', { outcome: 'retry', error: 'a', statusCode: 503 } as SendResult, NOW, false],
  ])('a group stays together only where it may have arrived: %s', (_name, result, nextAttemptAt, isKept) => {
    expect(step(result, { nextAttemptAt }).isGroupKept).toBe(isKept);
  });
});

test('what is left out has no attempt; the receiver may know it from before a crash', () => {
  const { incident } = FULL_ALERT;
  expect(leftOut(newDelivery(), 'superseded', null)).toMatchObject({
    state: 'superseded',
    attempt: null,
    channel: null,
    announced: null,
    nextAttemptAt: null,
  });
  expect(leftOut(newDelivery(), 'dead', 'stopped', true)).toMatchObject({
    error: 'stopped',
    announced: { incident, thread: null },
  });
  expect(leftOut(newDelivery({ alert: null }), 'dead', 'stopped', true).announced).toBeNull();
});

test('an entry has every answer, and an empty reply is none', () => {
  const reply = fc.option(fc.string(), { nil: undefined });
  fc.assert(
    fc.property(
      reply,
      fc.option(fc.integer({ min: 100, max: 599 }), { nil: undefined }),
      (said, statusCode) => {
        const result: SendResult = {
          outcome: 'retry',
          error: 'e',
          ...(said === undefined ? {} : { reply: said }),
          ...(statusCode === undefined ? {} : { statusCode }),
        };
        expect(attemptEntry({ at: NOW, durationMs: 1, result })).toEqual({
          at: NOW,
          durationMs: 1,
          outcome: 'retry',
          reason: reasonOf(result),
          statusCode: statusCode ?? null,
          error: 'e',
          reply: said || null,
        });
      },
    ),
  );
});
