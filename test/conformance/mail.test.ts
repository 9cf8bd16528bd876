import { readFileSync } from 'node:fs';
import { contentOf, plainText } from '@svc/coordinator/alerts/content.ts';
import { createSender } from '@svc/coordinator/alerts/sender.ts';
import { createSendMail } from '@svc/coordinator/outgoing/smtp/mail.ts';
import type { SmtpRelay } from '@svc/coordinator/outgoing/smtp/relay.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FULL_ALERT, loopbackParts, PUBLIC_URL, sendContext } from '../support/channel-sending.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { TEST_AUTHORITY } from '../support/tls/certificates.ts';
import { MailServer, type MailStep } from '../support/vendors/smtp.ts';
import { NOTICES } from './channels/notices.ts';
import { REMINDERS } from './channels/reminders.ts';
import { SHOWN_ALERT } from './channels/shown-alert.ts';

/* The promises of all kinds, for the one kind that does not send over HTTP. */

const ACCOUNT = { user: 'ops', password: 'smtp-s3cret-password' };
const CHANNEL = { kind: 'email', settings: new Secret({ email: 'ops@example.com' }) } as const;
const DELIVERY_ID = 'c0ffee00-0000-4000-8000-000000000001';

let server: MailServer;
beforeEach(async () => {
  server = await MailServer.start({ startTls: true, account: ACCOUNT });
});
afterEach(() => server.close());

/** As production sends, with STARTTLS and a login. */
function send(
  alert: Alert = FULL_ALERT,
  context = sendContext(),
  from = { name: 'svc "alerts"', address: 'svc@grüße.example' },
) {
  const relay: SmtpRelay = { host: 'localhost', port: server.port, tls: 'starttls', credentials: ACCOUNT };
  const operator = {
    smtpUrl: new Secret(relay),
    mailFrom: from,
  };
  const sendMail = createSendMail({ clock: new FakeClock(), ca: [TEST_AUTHORITY] });
  return createSender(loopbackParts({ sendMail, operator }))(CHANNEL, alert, context);
}

test('sends exactly the promised mail, once', async () => {
  expect(await send()).toEqual({
    outcome: 'delivered',
    statusCode: 250,
  });
  expect(server.mails).toHaveLength(1);
  const [mail] = server.mails;
  expect(mail).toMatchObject({
    // The server shows it so; it takes ASCII only.
    from: 'svc@grüße.example',
    to: 'ops@example.com',
    isSecure: true,
    user: 'ops',
  });
  expect(Object.fromEntries(mail?.parsed.headers ?? [])).toEqual({
    from: expect.stringMatching(/^"svc \\"alerts\\"" <svc@xn--gre-6ka8l\.example>$/),
    to: 'ops@example.com',
    subject: 'Error: Shop "größte" \u{1F6D2}',
    'message-id': `<${DELIVERY_ID}@xn--gre-6ka8l.example>`,
    'in-reply-to': '<0b3c.12.1767225600000.incident@xn--gre-6ka8l.example>',
    references: '<0b3c.12.1767225600000.incident@xn--gre-6ka8l.example>',
    date: 'Thu, 01 Jan 2026 00:00:02 +0000',
    'auto-submitted': 'auto-generated',
    'x-auto-response-suppress': 'All',
    'mime-version': '1.0',
    'content-type': `multipart/alternative; boundary="--_NmP-${DELIVERY_ID}-Part_1"`,
  });
  const [text, html] = mail?.parsed.parts ?? [];
  expect(text).toMatchObject({ type: 'text/plain' });
  expect(text?.text).toBe(
    [
      'Error: Shop "größte" \u{1F6D2}',
      '',
      'Problem: status code 503, expected 200',
      'Status code: 503',
      'Latency: 123.4 ms',
      'HTTP target: https://shop.example/health?…',
      'Regions: 1 of 1 (hosta-fra)',
      'Failing since: 2026-01-01 00:00:01 UTC',
      '',
      'https://svc.example/monitors/12/incident',
      '',
    ].join('\r\n'),
  );
  expect(html).toMatchObject({ type: 'text/html' });
  expect(html?.text).toContain('>Error: Shop "größte" \u{1F6D2}</h1>');
  expect(html?.text).toContain(
    '<a href="https://svc.example/monitors/12/incident">https://svc.example/monitors/12/incident</a>',
  );
  // Nothing is loaded, and nothing runs.
  expect(html?.text).not.toMatch(/<(?:img|link|script|iframe|style)|url\(|src=/i);
});

test('addresses are links in the HTML part, and as they are in the text', async () => {
  const address = 'https://shop_old.example/a&b/(c)';
  await send({
    ...FULL_ALERT,
    monitor: { ...FULL_ALERT.monitor, name: address, url: address },
    errorMessage: `see ${address}.`,
  });
  const [text, html] = server.mails[0]?.parsed.parts ?? [];
  expect(text?.text.split(address)).toHaveLength(4);
  const link = address.replace('&', '&amp;');
  expect(html?.text.split(`<a href="${link}">${link}</a>`)).toHaveLength(4);
});

test.each<[step: MailStep, code: number, text: string, outcome: string, reason: string]>([
  ['connect', 421, 'busy', 'retry', 'receiver'],
  ['connect', 554, 'no service', 'retry', 'operator'],
  ['login', 454, '4.7.0 try later', 'retry', 'receiver'],
  ['login', 535, '5.7.8 wrong', 'retry', 'operator'],
  ['login', 534, '5.7.9 too weak', 'retry', 'operator'],
  ['sender', 451, 'later', 'retry', 'receiver'],
  ['sender', 550, '5.7.1 not your address', 'retry', 'operator'],
  ['recipient', 450, '4.2.1 greylisted', 'retry', 'receiver'],
  ['recipient', 550, '5.1.1 no such user', 'permanent-channel', 'refused'],
  ['recipient', 550, 'no such user', 'permanent-channel', 'refused'],
  ['recipient', 553, 'no such mailbox', 'permanent-channel', 'refused'],
  ['recipient', 552, 'mailbox full', 'permanent-message', 'refused'],
  ['recipient', 550, '5.2.2 over quota', 'permanent-message', 'refused'],
  ['recipient', 530, 'authentication required', 'retry', 'operator'],
  ['recipient', 554, '5.7.1 relay access denied', 'retry', 'operator'],
  ['recipient', 550, 'relaying not permitted', 'retry', 'operator'],
  // Postfix and Exim judge the client and the sender only here.
  ['recipient', 504, '5.5.2 <a>: Helo command rejected: need fully-qualified hostname', 'retry', 'operator'],
  ['recipient', 550, '5.1.8 <svc@a>: Sender address rejected: Domain not found', 'retry', 'operator'],
  ['recipient', 550, '5.1.0 <svc@a>: Sender address rejected: User unknown', 'retry', 'operator'],
  ['recipient', 550, 'Sender verify failed', 'retry', 'operator'],
  [
    'recipient',
    550,
    'rejected because 192.0.2.1 is in a black list at zen.spamhaus.org',
    'retry',
    'operator',
  ],
  ['recipient', 550, 'your host 192.0.2.1 is listed at zen.spamhaus.org', 'retry', 'operator'],
  ['recipient', 550, 'Service unavailable; 192.0.2.1 blocked using bl.example.net', 'retry', 'operator'],
  ['recipient', 550, 'no such user in our list', 'permanent-channel', 'refused'],
  ['recipient', 521, '5.3.2 this host takes no mail', 'retry', 'operator'],
  ['recipient', 552, '5.3.4 too large', 'permanent-message', 'refused'],
  ['recipient', 556, '5.1.10 the domain takes no mail', 'permanent-channel', 'refused'],
  ['recipient', 550, '5.5.0 mailbox unavailable', 'permanent-channel', 'refused'],
  ['message', 451, 'local error', 'retry', 'receiver'],
  ['message', 554, '5.7.1 looks like spam', 'permanent-message', 'refused'],
  ['message', 550, '5.1.1 no such user', 'permanent-channel', 'refused'],
])('%s %i %s is judged %s (%s), and no secret is repeated', async (step, code, text, outcome, reason) => {
  server.refuse(step, { code, text: `${text} ${ACCOUNT.password}` });
  const result = await send();
  expect(result).toMatchObject({ outcome, reason, statusCode: code });
  expect(JSON.stringify(result)).not.toContain('s3cret');
  expect('error' in result && result.error.length).toBeLessThanOrEqual(1_024);
  expect(server.mails).toEqual([]);
});

test('the abort is honoured at once', async () => {
  server.hold();
  const abort = new AbortController();
  const result = send(FULL_ALERT, sendContext(abort.signal));
  await server.received(1);
  abort.abort();
  expect(await result).toEqual({ outcome: 'retry', reason: 'unanswered', error: 'svc is stopping' });
});

test('the mails of an incident are a thread, each with its state first; a repeat is the same mail', async () => {
  await send();
  await send();
  const later = { ...sendContext(), deliveryId: 'c0ffee00-0000-4000-8000-000000000002' };
  await send({ ...FULL_ALERT, status: 'recovered' }, later);
  const [first, repeat, last] = server.mails;
  expect(repeat?.raw).toBe(first?.raw);
  expect(last?.parsed.headers.get('subject')).toBe('Recovered: Shop "größte" \u{1F6D2}');
  expect(last?.parsed.headers.get('references')).toBe(first?.parsed.headers.get('references'));
  expect(last?.parsed.headers.get('message-id')).not.toBe(first?.parsed.headers.get('message-id'));
  expect(last?.parsed.parts[0]?.text).toMatch(/^Recovered: Shop/);
});

test('a test begins no thread', async () => {
  const result = await send({ ...FULL_ALERT, test: true });
  expect(result).toEqual({ outcome: 'delivered', statusCode: 250 });
  expect(server.mails[0]?.parsed.headers.has('references')).toBe(false);
});

test.each([
  ['line breaks', 'Shop\r\nBcc: all@example.com\r\n\r\nhello'],
  ['markup', '<script>alert(1)</script><img src="https://evil.example/p">&amp;"'],
  ['what ends a message', '\r\n.\r\nMAIL FROM:<evil@example.com>\r\n'],
  ['an encoded word', '=?utf-8?Q?=0D=0ABcc:_all@example.com?='],
  ['256 characters of an emoji', '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}'.repeat(256)],
  ['a text without a blank', 'ä'.repeat(3_000)],
  ['half of a surrogate pair', 'a\ud83d'],
])('a monitor whose name has %s does no harm', async (_, name) => {
  const monitor = { ...FULL_ALERT.monitor, name, url: `https://shop.example/${'a'.repeat(2_000)}` };
  expect(await send({ ...FULL_ALERT, monitor, errorMessage: name.slice(0, 500) })).toMatchObject({
    outcome: 'delivered',
  });
  expect(server.mails).toHaveLength(1);
  const [mail] = server.mails;
  expect(mail?.to).toBe('ops@example.com');
  expect([...(mail?.parsed.headers.keys() ?? [])].filter((header) => header === 'bcc')).toEqual([]);
  expect(mail?.parsed.headers.get('to')).toBe('ops@example.com');
  expect(mail?.parsed.parts).toHaveLength(2);
  expect(mail?.parsed.parts[1]?.text).not.toMatch(/<(?:script|img)/i);
  for (const line of mail?.raw.split('\r\n') ?? []) expect(line.length).toBeLessThanOrEqual(998);
});

test('the page shows what is sent', async () => {
  await send(SHOWN_ALERT, sendContext(), { name: 'svc', address: 'svc@example.com' });
  const { headers, parts } = server.mails[0]?.parsed ?? { headers: new Map(), parts: [] };
  const page = readFileSync(new URL('../../docs/channels/email.md', import.meta.url), 'utf8');
  const [, shown = ''] = /^## What is sent$[\s\S]*?^```text\n([\s\S]*?)\n```$/m.exec(page) ?? [];
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  const text = parts[0]?.text.replaceAll('\r\n', '\n').trimEnd();
  expect(shown).toBe(`${lines.join('\n')}\n\n${text}`);
});

test.each([...NOTICES, ...REMINDERS])('%s', async (title, alert) => {
  expect(await send(alert)).toMatchObject({ outcome: 'delivered' });
  const [mail] = server.mails;
  expect(mail?.parsed.headers.get('subject')).toBe(title);
  const [text] = mail?.parsed.parts ?? [];
  const lines = plainText(contentOf(alert, PUBLIC_URL)).split('\n');
  for (const line of lines) expect(text?.text).toContain(line);
});
