import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MailLimits, PasswordGuesses } from './visitor-limits.ts';

const HOUR_MS = 3_600_000;
const wrong = () => false;
const right = () => true;

/** Guesses as often as possible until the given time. Returns how many guesses were compared. */
function lookedAt(
  untilMs: number,
  guess: (now: number) => ReturnType<PasswordGuesses['countGuess']>,
): number {
  let count = 0;
  for (let now = 0; now <= untilMs; ) {
    const answer = guess(now);
    if (answer.is === 'early') now += Math.ceil(answer.waitMs);
    else count += 1;
  }
  return count;
}

describe('guesses of one visitor', () => {
  test('three are free, and then the wait doubles up to 15 minutes', () => {
    const guessing = new PasswordGuesses();
    const waits: number[] = [];
    for (let now = 0; waits.length < 10; ) {
      const answer = guessing.countGuess(1, 'a', now, wrong);
      if (answer.is !== 'early') continue;
      waits.push(answer.waitMs / 1_000);
      now += answer.waitMs;
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 900, 900]);
  });

  test('are few in a day, with any timing', () => {
    const guessing = new PasswordGuesses();
    const count = lookedAt(24 * HOUR_MS, (now) => guessing.countGuess(1, 'a', now, wrong));
    expect(count).toBeLessThan(110);
  });

  test('an early guess is not compared, and does not lengthen the wait', () => {
    const guessing = new PasswordGuesses();
    for (let n = 0; n < 3; n += 1) guessing.countGuess(1, 'a', 0, wrong);
    expect(guessing.countGuess(1, 'a', 4_000, right)).toEqual({ is: 'early', waitMs: 1_000 });
    expect(guessing.countGuess(1, 'a', 5_000, right)).toEqual({ is: 'right' });
  });

  test('the right password resets the count', () => {
    const guessing = new PasswordGuesses();
    for (let n = 0; n < 2; n += 1) guessing.countGuess(1, 'a', 0, wrong);
    guessing.countGuess(1, 'a', 0, right);
    for (let n = 0; n < 3; n += 1) expect(guessing.countGuess(1, 'a', 0, wrong)).toEqual({ is: 'wrong' });
  });

  test('an hour without a guess resets it too', () => {
    const guessing = new PasswordGuesses();
    for (let n = 0; n < 3; n += 1) guessing.countGuess(1, 'a', 0, wrong);
    expect(guessing.countGuess(1, 'a', HOUR_MS + 1, wrong)).toEqual({ is: 'wrong' });
    expect(guessing.countGuess(1, 'a', HOUR_MS + 1, wrong)).toEqual({ is: 'wrong' });
  });

  test('are counted apart for another page', () => {
    const guessing = new PasswordGuesses();
    for (let n = 0; n < 4; n += 1) guessing.countGuess(1, 'a', 0, wrong);
    expect(guessing.countGuess(2, 'a', 0, wrong)).toEqual({ is: 'wrong' });
  });
});

describe('guesses of many visitors', () => {
  test('are 30 a minute for a page, from any number of addresses', () => {
    const guessing = new PasswordGuesses();
    let peers = 0;
    const count = lookedAt(HOUR_MS, (now) => {
      peers += 1;
      return guessing.countGuess(1, `peer ${peers}`, now, wrong);
    });
    expect(count).toBeLessThanOrEqual(30 + 60 * 30 + 1);
  });

  test('do not lock out a visitor who sent the right password before', () => {
    const guessing = new PasswordGuesses();
    guessing.countGuess(1, 'friend', 0, right);
    for (let n = 0; n < 200; n += 1) guessing.countGuess(1, `stranger ${n}`, 0, wrong);
    expect(guessing.countGuess(1, 'stranger', 0, right).is).toBe('early');
    expect(guessing.countGuess(1, 'friend', 0, right)).toEqual({ is: 'right' });
  });
});

test('no order of guesses exceeds the bound of a visitor or of a page', () => {
  const guess = fc.record({
    peer: fc.integer({ min: 0, max: 60 }),
    afterMs: fc.integer({ min: 0, max: 3_000 }),
  });
  fc.assert(
    fc.property(fc.array(guess, { maxLength: 300 }), (guesses) => {
      const guessing = new PasswordGuesses();
      const byPeer = new Map<number, number>();
      let now = 0;
      let looked = 0;
      for (const { peer, afterMs } of guesses) {
        now += afterMs;
        if (guessing.countGuess(1, String(peer), now, wrong).is === 'early') continue;
        looked += 1;
        byPeer.set(peer, (byPeer.get(peer) ?? 0) + 1);
      }
      expect(looked).toBeLessThanOrEqual(30 + now / 2_000 + 1);
      for (const count of byPeer.values())
        expect(count).toBeLessThanOrEqual(3 + Math.log2(now / 5_000 + 1) + 1);
    }),
  );
});

const mail = { pageId: 1, mailbox: 'ada@example.com' };

describe('mails that visitors request', () => {
  test('are three an hour to one mailbox, from all pages together', () => {
    const limits = new MailLimits();
    for (let pageId = 0; pageId < 3; pageId += 1) expect(limits.countMail({ ...mail, pageId }, 0)).toBeNull();
    expect(limits.countMail({ ...mail, pageId: 3 }, 0)).toBe('mailbox');
    expect(limits.countMail(mail, HOUR_MS / 3)).toBeNull();
    expect(limits.countMail(mail, HOUR_MS / 3)).toBe('mailbox');
  });

  test('are 60 at once from one page, and 200 from the service', () => {
    const limits = new MailLimits();
    const ask = (n: number, pageId: number) =>
      limits.countMail({ pageId, mailbox: `ada${n}@example.com` }, 0);
    for (let n = 0; n < 60; n += 1) expect(ask(n, 1)).toBeNull();
    expect(ask(60, 1)).toBe('page');
    for (let n = 61; n < 201; n += 1) expect(ask(n, n)).toBeNull();
    expect(ask(201, 201)).toBe('service');
  });

  test('a refused mail does not count for other bounds', () => {
    const limits = new MailLimits();
    for (let n = 0; n < 3; n += 1) limits.countMail(mail, 0);
    for (let n = 0; n < 100; n += 1) expect(limits.countMail(mail, 0)).toBe('mailbox');
    expect(limits.countMail({ ...mail, mailbox: 'eve@example.com' }, 0)).toBeNull();
  });

  test('no order of requests sends a mailbox more than its bound', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 60_000 }), { maxLength: 200 }), (waits) => {
        const limits = new MailLimits();
        let now = 0;
        let sent = 0;
        for (const waitMs of waits) {
          now += waitMs;
          if (limits.countMail(mail, now) === null) sent += 1;
        }
        expect(sent).toBeLessThanOrEqual(3 + now / (HOUR_MS / 3));
      }),
    );
  });
});

test('a visitor may request ten mails an hour, and learns when the next may be requested', () => {
  const limits = new MailLimits();
  for (let n = 0; n < 10; n += 1) expect(limits.countRequest('peer', 0)).toBe(0);
  expect(limits.countRequest('peer', 0)).toBe(HOUR_MS / 10);
  expect(limits.countRequest('another', 0)).toBe(0);
  expect(limits.countRequest('peer', HOUR_MS / 10)).toBe(0);
});
