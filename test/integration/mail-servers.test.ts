import { createSender } from '@svc/coordinator/alerts/sender.ts';
import { createSendMail } from '@svc/coordinator/outgoing/smtp/mail.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { FULL_ALERT, loopbackParts, sendContext } from '../support/channel-sending.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { findProgram } from '../support/real-dns-server.ts';
import { startAiosmtpd } from '../support/real-mail-server.ts';
import { TEST_AUTHORITY } from '../support/tls/certificates.ts';

/* A mail server and a parser of mails that are not our own: aiosmtpd and Python's. */

const program = findProgram('aiosmtpd');
const skips = program === null && process.env.CI !== 'true';
if (program === null) console.warn('skipped: aiosmtpd is not installed');

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

describe.skipIf(skips)('with aiosmtpd', () => {
  test('a thread of mails arrives by STARTTLS, and Python finds nothing wrong with it', async () => {
    if (program === null) throw new Error('aiosmtpd is not installed');
    const server = await startAiosmtpd(program);
    closing.push(() => server.stop());
    const operator = {
      smtpUrl: new Secret({ host: 'localhost', port: server.port, tls: 'starttls', credentials: null }),
      mailFrom: { name: 'svc', address: 'svc@example.com' },
    };
    const sendMail = createSendMail({ clock: new FakeClock(), ca: [TEST_AUTHORITY] });
    const send = createSender(loopbackParts({ sendMail, operator }));
    const channel = { kind: 'email', settings: new Secret({ email: 'ops@example.com' }) } as const;
    const opened = await send(channel, FULL_ALERT, sendContext());
    expect(opened).toMatchObject({ outcome: 'delivered' });
    const later = { ...sendContext(), deliveryId: 'second' };
    expect(await send(channel, { ...FULL_ALERT, status: 'recovered' }, later)).toMatchObject({
      outcome: 'delivered',
    });

    // The names of files in the mailbox are not in the order of arrival.
    const subjectOf = (mail: { headers: Record<string, string> }) => mail.headers.subject ?? '';
    const mails = (await server.mails()).toSorted((a, b) => subjectOf(a).localeCompare(subjectOf(b)));
    expect(mails.map(({ defects }) => defects)).toEqual([[], []]);
    expect(mails.map(({ headers }) => headers.subject)).toEqual([
      'Error: Shop "größte" \u{1F6D2}',
      'Recovered: Shop "größte" \u{1F6D2}',
    ]);
    expect(new Set(mails.map(({ headers }) => headers.references)).size).toBe(1);
    expect(mails.map(({ parts }) => parts.map(({ type }) => type))).toEqual([
      ['text/plain', 'text/html'],
      ['text/plain', 'text/html'],
    ]);
    expect(mails[0]?.parts[0]?.text).toContain('Problem: status code 503, expected 200');
    expect(mails[0]?.parts[1]?.text).toContain('Shop "größte" \u{1F6D2}');
  });
});
