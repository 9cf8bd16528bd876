import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FULL_ALERT } from '../../../../test/support/channel-sending.ts';
import { newDelivery } from '../../../../test/support/coordinator/new-delivery.ts';
import { OWN_FAILURE_WAIT_MS } from '../verdict/backoff.ts';
import { type ChannelFacts, FAILURE_REASONS, reasonOf, type SendResult } from './channel.ts';
import { attemptEntry, inContext, leftOutStep, type Moment, nextStep, testedState } from './next-step.ts';

const NOW = 1_767_225_600_000;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/**
 * The step after an attempt with this result.
 *
 * @param moment `random` 0.5 is the middle of the spread
 */
const step = (
  result: SendResult,
  delivery: Parameters<typeof newDelivery>[0] = {},
  moment: Partial<Moment> = {},
) =>
  nextStep(
    newDelivery(delivery),
    { at: NOW - 12.5, durationMs: 12.5, result },
    { now: NOW, ageMs: 12.5, random: 0.5, isOfMany: false, ...moment },
  );

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

  test.each(FAILURE_REASONS)('the reason that a channel gives is used: %s', (reason) => {
    expect(reasonOf({ outcome: 'retry', error: 'a', statusCode: 503, reason })).toBe(reason);
    expect(reasonOf({ outcome: 'not-sent', error: 'a', reason })).toBe(reason);
  });
});

const DOWN: SendResult = { outcome: 'retry', error: 'down', statusCode: 503 };
const SLOW: SendResult = { outcome: 'retry', error: 'slow', statusCode: 429 };
const BAD: SendResult = { outcome: 'permanent-message', error: 'bad', statusCode: 400 };
const GONE: SendResult = { outcome: 'permanent-channel', error: 'gone', statusCode: 410 };
const OWN: SendResult = { outcome: 'not-sent', error: 'own' };

describe('the step after an attempt', () => {
  type Case = [string, SendResult, Parameters<typeof newDelivery>[0], Partial<Moment>, object];
  test.each<Case>([
    [
      'delivered',
      DELIVERED,
      {},
      {},
      { state: 'delivered', error: null, channel: { state: 'ok', reason: null } },
    ],
    [
      'failed',
      DOWN,
      {},
      {},
      {
        state: 'pending',
        error: 'down',
        nextAttemptAt: NOW + 5_000,
        channel: { state: 'failing', reason: 'down' },
      },
    ],
    ['failed for the tenth time', DOWN, { tries: 9 }, {}, { nextAttemptAt: NOW + 60 * MINUTE }],
    [
      'failed for the tenth time, and once since it was replayed',
      DOWN,
      { attempts: 9, tries: 0, replayedAt: NOW },
      {},
      { nextAttemptAt: NOW + 5_000, attempt: { number: 10 } },
    ],
    [
      'failed after a day',
      DOWN,
      {},
      { ageMs: DAY },
      { state: 'dead', error: 'down', channel: { state: 'failing' } },
    ],
    ['asked to wait', { ...DOWN, retryAfterMs: MINUTE }, {}, {}, { nextAttemptAt: NOW + MINUTE }],
    ['asked to wait for less', { ...DOWN, retryAfterMs: 1 }, {}, {}, { nextAttemptAt: NOW + 5_000 }],
    // The receiver asks svc to send the alert later. Such an answer does not show that the channel fails.
    [
      'told that it is too much',
      SLOW,
      {},
      {},
      { state: 'pending', nextAttemptAt: NOW + 5_000, channel: null },
    ],
    // The content of the message is at fault.
    ['refused for its content', BAD, {}, {}, { state: 'dead', error: 'bad', channel: null }],
    [
      'refused for its content, as one of many',
      BAD,
      {},
      { isOfMany: true },
      { state: 'pending', nextAttemptAt: NOW + 5_000, attempt: { outcome: 'retry', reason: 'refused' } },
    ],
    ['a dead address', GONE, {}, {}, { state: 'dead', channel: { state: 'stopped', reason: 'gone' } }],
    [
      'not sent',
      OWN,
      {},
      {},
      {
        state: 'pending',
        attempt: null,
        nextAttemptAt: NOW + OWN_FAILURE_WAIT_MS,
        channel: { state: 'failing', reason: 'own' },
      },
    ],
    ['not sent for a day', OWN, {}, { ageMs: DAY }, { state: 'dead', attempt: null }],
  ])('%s', (_name, result, delivery, moment, expected) => {
    expect(step(result, delivery, moment)).toMatchObject({ deliveryId: 7, ...expected });
  });

  const results = fc.constantFrom(DELIVERED, DOWN, SLOW, BAD, GONE, OWN);
  test('after any result, the delivery is either pending with an attempt within 75 minutes, or over', () => {
    fc.assert(
      fc.property(
        results,
        fc.nat(100),
        fc.nat(2 * DAY),
        fc.boolean(),
        fc.option(fc.nat(DAY), { nil: undefined }),
        (result, tries, ageMs, isOfMany, retryAfterMs) => {
          const answer =
            result.outcome === 'retry' && retryAfterMs !== undefined ? { ...result, retryAfterMs } : result;
          const { state, nextAttemptAt } = step(answer, { tries }, { ageMs, isOfMany });
          expect(state === 'pending').toBe(nextAttemptAt !== null);
          if (nextAttemptAt === null) return;
          expect(nextAttemptAt).toBeGreaterThan(NOW);
          expect(nextAttemptAt - NOW).toBeLessThanOrEqual(75 * MINUTE);
          if (result.outcome === 'retry') expect(nextAttemptAt - NOW).toBeLessThanOrEqual(DAY - ageMs);
        },
      ),
    );
  });

  test('an attempt has the next number; a send that svc could not make is no attempt', () => {
    const attempt = { deliveryId: 7, number: 5, durationMs: 12.5 };
    expect(step(DELIVERED, { attempts: 4 }).attempt).toMatchObject(attempt);
    expect(step(OWN, { attempts: 4 }).attempt).toBeNull();
  });

  test('a replay that is delivered starts a stopped channel again, as a test does', () => {
    expect(step(DELIVERED, { replayedAt: NOW }).channel).toEqual({ state: 'taken-up', reason: null });
    expect(testedState(DELIVERED)).toEqual({ state: 'taken-up', reason: null });
    expect(step(GONE, { replayedAt: NOW }).channel).toEqual({ state: 'stopped', reason: 'gone' });
  });

  test('`kept` is stored only after a delivery', () => {
    expect(step({ ...DELIVERED, kept: 'a' }).kept).toBe('a');
    expect(step(DELIVERED).kept).toBeNull();
    expect(step(DOWN).kept).toBeNull();
  });
});

describe('whether the channel knows the incident', () => {
  const { incident } = FULL_ALERT;
  const unanswered: SendResult = { outcome: 'retry', error: 'no answer' };

  test.each<[string, SendResult, object, object | null]>([
    ['delivered, with a thread', { ...DELIVERED, thread: 't' }, {}, { incident, thread: 't' }],
    ['delivered', DELIVERED, {}, { incident, thread: null }],
    ['perhaps, if no answer came', unanswered, {}, { incident, thread: null }],
    ['as before, if an alert was announced before', unanswered, { isAnnounced: true }, null],
    ['not by this attempt, if it was refused', DOWN, {}, null],
    ['nothing, if svc cannot read the alert', DELIVERED, { alert: null }, null],
  ])('%s', (_name, result, changes, announced) => {
    expect(step(result, changes).announced).toEqual(announced);
  });

  test.each([
    ['unanswered and tried again', unanswered, 0, true],
    ['unanswered and given up', unanswered, DAY, false],
    ['refused and tried again', DOWN, 0, false],
  ])('a group stays together only if it may have arrived: %s', (_name, result, ageMs, isKept) => {
    expect(step(result, {}, { ageMs }).isGroupKept).toBe(isKept);
  });
});

describe('a delivery that is left out', () => {
  const CLOSING: ChannelFacts = { closesIncidents: true, isHuman: false, dropsOld: false, rate: {} };
  const DROPPING: ChannelFacts = { ...CLOSING, closesIncidents: false, dropsOld: true };
  const HUMAN: ChannelFacts = { ...CLOSING, closesIncidents: false, isHuman: true };
  const RECOVERED = { ...FULL_ALERT, status: 'recovered' } as const;
  const over = { title: 'Data is back, status error: Shop', lines: [], facts: [], isOver: true };
  const BACK_IN_ERROR = { ...FULL_ALERT, status: 'error', notice: over } as const;
  const { incident } = FULL_ALERT;
  const leftOut = (
    delivery: Parameters<typeof newDelivery>[0],
    channel: { facts?: ChannelFacts | null; stoppedFor?: string | null } = {},
    moment: { ageMs?: number; lastIdBefore?: number } = {},
  ) =>
    leftOutStep(
      newDelivery(delivery),
      { facts: CLOSING, stoppedFor: null, ...channel },
      { ageMs: 0, lastIdBefore: 0, ...moment },
    );

  test.each([
    ['nothing, as a rule', leftOut({}), null],
    ['nothing, if the kind is unknown', leftOut({ hasNewerOfIncident: true }, { facts: null }), null],
    ['any alert to a stopped channel', leftOut({}, { stoppedFor: 'gone' }), 'dead'],
    ['but no replay to a stopped channel', leftOut({ replayedAt: NOW }, { stoppedFor: 'gone' }), null],
    ['an older state of an incident', leftOut({ hasNewerOfIncident: true }), 'superseded'],
    ['but not if the kind gets each', leftOut({ hasNewerOfIncident: true }, { facts: DROPPING }), null],
    ['an old alert', leftOut({ hasNewer: true }, { facts: DROPPING }, { ageMs: 61 * MINUTE }), 'superseded'],
    ['the end of an incident that was not announced', leftOut({ alert: RECOVERED }), 'superseded'],
    ['but not the end of an announced incident', leftOut({ alert: RECOVERED, isAnnounced: true }), null],
    [
      'the end of a notice that was not announced',
      leftOut({ alert: BACK_IN_ERROR }, { facts: HUMAN }),
      'superseded',
    ],
  ])('%s', (_name, step, state) => {
    expect(step?.state ?? null).toBe(state);
    if (step !== null) expect(step).toMatchObject({ attempt: null, channel: null, nextAttemptAt: null });
  });

  test('may have arrived before a crash: then the receiver knows of its incident', () => {
    const newer = { hasNewerOfIncident: true };
    expect(leftOut(newer)?.announced).toBeNull();
    expect(leftOut(newer, {}, { lastIdBefore: 7 })?.announced).toEqual({ incident, thread: null });
    expect(leftOut({ alert: RECOVERED }, {}, { lastIdBefore: 7 })?.announced).toBeNull();
  });
});

describe('an answer that may be wrong about a dead address', () => {
  const DOUBT: SendResult = { outcome: 'retry', error: 'kicked', statusCode: 403, mayBeDead: true };
  const after = (doubtedMs: number | null, result: SendResult = DOUBT, isFormer = false) =>
    inContext(result, { isFormer, doubtedMs });

  test('counts when it comes again at least five minutes later', () => {
    expect(after(null)).toBe(DOUBT);
    expect(after(5 * MINUTE - 1)).toBe(DOUBT);
    expect(after(5 * MINUTE)).toEqual({ outcome: 'permanent-channel', error: 'kicked', statusCode: 403 });
    expect(after(5 * MINUTE, DOWN)).toBe(DOWN);
  });

  test('does not count if the settings were changed meanwhile, nor does a dead address', () => {
    expect(after(5 * MINUTE, DOUBT, true)).toBe(DOUBT);
    expect(after(null, GONE, true)).toEqual({ ...GONE, outcome: 'retry' });
    expect(after(null, DELIVERED, true)).toBe(DELIVERED);
  });
});

test('an entry has the facts of the answer, and an empty reply is null', () => {
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
