import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MailLimits } from './mail-limits.ts';

const HOUR_MS = 3_600_000;
const mail = { pageId: 1, mailbox: 'ada@example.com' };

describe('mails that visitors ask for', () => {
  test('are three an hour to one mailbox, of whichever pages', () => {
    const limits = new MailLimits();
    for (let pageId = 0; pageId < 3; pageId += 1) expect(limits.take({ ...mail, pageId }, 0)).toBeNull();
    expect(limits.take({ ...mail, pageId: 3 }, 0)).toBe('mailbox');
    expect(limits.take(mail, HOUR_MS / 3)).toBeNull();
    expect(limits.take(mail, HOUR_MS / 3)).toBe('mailbox');
  });

  test('are 60 at once of one page, and 200 of the service', () => {
    const limits = new MailLimits();
    const ask = (n: number, pageId: number) => limits.take({ pageId, mailbox: `ada${n}@example.com` }, 0);
    for (let n = 0; n < 60; n += 1) expect(ask(n, 1)).toBeNull();
    expect(ask(60, 1)).toBe('page');
    for (let n = 61; n < 201; n += 1) expect(ask(n, n)).toBeNull();
    expect(ask(201, 201)).toBe('service');
  });

  test('one that is not sent counts for no other', () => {
    const limits = new MailLimits();
    for (let n = 0; n < 3; n += 1) limits.take(mail, 0);
    for (let n = 0; n < 100; n += 1) expect(limits.take(mail, 0)).toBe('mailbox');
    expect(limits.take({ ...mail, mailbox: 'eve@example.com' }, 0)).toBeNull();
  });

  test('no order of requests sends a mailbox more than its bound', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 60_000 }), { maxLength: 200 }), (waits) => {
        const limits = new MailLimits();
        let now = 0;
        let sent = 0;
        for (const waitMs of waits) {
          now += waitMs;
          if (limits.take(mail, now) === null) sent += 1;
        }
        expect(sent).toBeLessThanOrEqual(3 + now / (HOUR_MS / 3));
      }),
    );
  });
});

test('a visitor may ask ten times in an hour, and is told when the next time is', () => {
  const limits = new MailLimits();
  for (let n = 0; n < 10; n += 1) expect(limits.takeOf('peer', 0)).toBe(0);
  expect(limits.takeOf('peer', 0)).toBe(HOUR_MS / 10);
  expect(limits.takeOf('another', 0)).toBe(0);
  expect(limits.takeOf('peer', HOUR_MS / 10)).toBe(0);
});
