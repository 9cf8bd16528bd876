import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { FakeClock, settle } from '../../../../../test/support/fake-clock.ts';
import { SELF_SIGNED } from '../../../../../test/support/self-signed.ts';
import { TEST_AUTHORITY } from '../../../../../test/support/tls/certificates.ts';
import { MailServer, type MailServerOptions } from '../../../../../test/support/vendors/smtp.ts';
import type { Resolve } from '../names.ts';
import { createSendMail, type MailParts, type MailRequest } from './mail.ts';
import type { SmtpRelay } from './relay.ts';
import { greetingOf, isGreeting } from './session.ts';

const ACCOUNT = { user: 'ops', password: 'pass-w0rd-s3cret' };
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function server(options?: MailServerOptions): Promise<MailServer> {
  const started = await MailServer.start(options);
  closing.push(() => started.close());
  return started;
}

const relayAt = (port: number, more: Partial<SmtpRelay> = {}): SmtpRelay => ({
  host: 'localhost',
  port,
  tls: 'none',
  credentials: null,
  ...more,
});

const request = (relay: SmtpRelay, more: Partial<MailRequest> = {}): MailRequest => ({
  relay,
  from: 'svc@example.com',
  to: 'ops@example.com',
  message: Buffer.from('Subject: a\r\n\r\n.\r\n..b\r\n'),
  signal: new AbortController().signal,
  ...more,
});

const onLoopback: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];

function sending(parts: Partial<MailParts> = {}) {
  const clock = new FakeClock();
  const send = createSendMail({ clock, resolve: onLoopback, ca: [TEST_AUTHORITY], ...parts });
  return { clock, send };
}

describe('the dialogue', () => {
  test.each([
    ['already', 1],
    ['while it connected', 2],
  ])('no mail goes out where another coordinator leads %s', async (_, lostAt) => {
    const taking = await server();
    const answers = [true, false].slice(2 - lostAt);
    const { send } = sending({ maySend: () => answers.shift() ?? false });
    expect(await send(request(relayAt(taking.port)))).toMatchObject({ failure: 'aborted' });
    expect(taking.mails).toEqual([]);
  });

  test.each([
    ['in clear', {}, {}],
    ['by STARTTLS', { startTls: true }, { tls: 'starttls' }],
    ['over TLS from the start', { isImplicit: true }, { tls: 'implicit' }],
    [
      'by STARTTLS, logged in',
      { startTls: true, account: ACCOUNT },
      { tls: 'starttls', credentials: ACCOUNT },
    ],
    // These relays are on this machine. The first takes a password over TLS only, and its certificate is
    // self-signed.
    [
      'by STARTTLS where it is offered, logged in',
      { startTls: true, account: ACCOUNT, certificate: SELF_SIGNED },
      { tls: 'offered', credentials: ACCOUNT },
    ],
    [
      'in clear where STARTTLS is not offered, logged in',
      { account: ACCOUNT },
      { tls: 'offered', credentials: ACCOUNT },
    ],
  ] as const)('a mail goes out %s, as it is', async (_, options, relay) => {
    const taking = await server(options);
    const { send, clock } = sending();
    expect(await send(request(relayAt(taking.port, relay)))).toEqual({ kind: 'accepted' });
    expect(taking.mails).toEqual([
      expect.objectContaining({
        from: 'svc@example.com',
        to: 'ops@example.com',
        raw: 'Subject: a\r\n\r\n.\r\n..b\r\n',
        isSecure: Object.keys(options).some((option) => /tls|implicit/i.test(option)),
        user: 'credentials' in relay ? ACCOUNT.user : null,
      }),
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('a login is never sent in clear where STARTTLS is asked for', async () => {
    const taking = await server({ account: ACCOUNT });
    const { send } = sending();
    const relay = relayAt(taking.port, { tls: 'starttls', credentials: ACCOUNT });
    expect(await send(request(relay))).toEqual({
      kind: 'refused',
      stage: 'connection',
      code: 500,
      enhanced: null,
      error: expect.stringContaining('the relay refused the connection'),
    });
    expect(taking.mails).toEqual([]);
  });

  test.each([
    ['from the start', { isImplicit: true }, 'implicit'],
    ['by STARTTLS', { startTls: true }, 'starttls'],
  ] as const)('a certificate of an unknown authority is refused, %s', async (_, options, tls) => {
    const taking = await server({ ...options, certificate: SELF_SIGNED });
    const { send } = sending();
    expect(await send(request(relayAt(taking.port, { tls })))).toMatchObject({
      kind: 'unanswered',
      failure: 'certificate',
      error: expect.stringContaining("the relay's TLS certificate is not trusted"),
    });
  });

  test('a certificate of another name is refused', async () => {
    const taking = await server({ isImplicit: true });
    const { send } = sending();
    const relay = relayAt(taking.port, { tls: 'implicit', host: 'other.test' });
    expect(await send(request(relay))).toMatchObject({ failure: 'certificate' });
  });
});

describe('the greeting', () => {
  test.each([
    ['svc-1.example.test', '192.0.2.7', 'svc-1.example.test'],
    ['svc_1.example.test', '192.0.2.7', '[192.0.2.7]'],
    ['svc', '192.0.2.7', '[192.0.2.7]'],
    ['-svc.example.test', '192.0.2.7', '[192.0.2.7]'],
    ['svc.example.test.', '192.0.2.7', '[192.0.2.7]'],
    ['größe.example', '192.0.2.7', '[192.0.2.7]'],
    ['192.0.2.1', '192.0.2.7', '[192.0.2.7]'],
    [`${'a'.repeat(64)}.example`, '2001:db8::7', '[IPv6:2001:db8::7]'],
    ['', 'fe80::1%eth0', '[IPv6:fe80::1]'],
    ['', undefined, '[127.0.0.1]'],
  ])('of the machine %j at %s is %s', (machine, address, greeting) => {
    expect(greetingOf(machine, address)).toBe(greeting);
  });

  test.each([
    ['mail.example.com', true],
    ['[192.0.2.1]', true],
    ['[IPv6:2001:db8::1]', true],
    ['[2001:db8::1]', false],
    ['mail_1.example.com', false],
    ['mail', false],
  ])('%s may be set: %s', (text, isIt) => {
    expect(isGreeting(text)).toBe(isIt);
  });

  test('is what the operator sets', async () => {
    const taking = await server();
    const { send } = sending({ helo: 'mail.example.com' });
    expect(await send(request(relayAt(taking.port)))).toEqual({ kind: 'accepted' });
    expect(taking.mails).toEqual([expect.objectContaining({ greeting: 'mail.example.com' })]);
  });
});

describe('a refusal says what was refused, and shows no secret', () => {
  test.each([
    ['connect', { code: 554, text: '5.3.2 no service' }, 'connection', '5.3.2'],
    ['sender', { code: 553, text: 'not yours' }, 'sender', null],
    ['recipient', { code: 550, text: '5.1.1 no such user' }, 'recipient', '5.1.1'],
    ['recipient', { code: 451, text: '4.7.1 greylisted' }, 'recipient', '4.7.1'],
    ['message', { code: 554, text: '5.6.0 spam' }, 'message', '5.6.0'],
  ] as const)('%s %j', async (step, reply, stage, enhanced) => {
    const taking = await server();
    taking.refuse(step, reply);
    const { send } = sending();
    const { code } = reply;
    expect(await send(request(relayAt(taking.port)))).toEqual({
      kind: 'refused',
      stage,
      code,
      enhanced,
      error: expect.stringContaining(reply.text),
    });
  });

  test('a password that the relay repeats is masked', async () => {
    const taking = await server({ startTls: true, account: { ...ACCOUNT, password: 'another' } });
    const { send } = sending();
    const relay = relayAt(taking.port, { tls: 'starttls', credentials: ACCOUNT });
    const result = await send(request(relay));
    expect(result).toMatchObject({ kind: 'refused', stage: 'login', code: 535, enhanced: '5.7.8' });
    expect(JSON.stringify(result)).not.toContain('s3cret');
    expect(JSON.stringify(result)).toContain('********');
  });

  test('a message that is larger than the relay takes is not sent', async () => {
    const taking = await server({ mostOfAMessage: 1_000 });
    const { send } = sending();
    const result = await send(request(relayAt(taking.port), { message: Buffer.alloc(2_000, 97) }));
    expect(result).toMatchObject({ kind: 'unanswered', failure: 'too-large' });
  });
});

describe('no answer', () => {
  /** Starts a relay that accepts connections and sends nothing but the greeting, if there is one. */
  async function silent(greeting?: string): Promise<{ port: number; came: Promise<Socket> }> {
    const { promise: came, resolve } = Promise.withResolvers<Socket>();
    const sockets = new Set<Socket>();
    const listening = createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      if (greeting !== undefined) socket.write(greeting);
      // The first bytes of a client show that it has connected.
      socket.once('data', () => resolve(socket));
    });
    listening.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    closing.push(async () => {
      for (const socket of sockets) socket.destroy();
      listening.close();
      await once(listening, 'close');
    });
    return { port: (listening.address() as AddressInfo).port, came };
  }

  test('is said after 15 s', async () => {
    const { port, came } = await silent('220 hello\r\n');
    const { send, clock } = sending();
    const result = send(request(relayAt(port)));
    await came;
    clock.advance(15_000);
    expect(await result).toEqual({
      kind: 'unanswered',
      failure: 'timeout',
      error: 'no answer of the relay within 15 s',
    });
    expect(clock.pendingTimers).toBe(0);
  });

  test('is said after 5 s without a connection', async () => {
    const { send, clock } = sending({ resolve: () => new Promise(() => {}) });
    const result = send(request(relayAt(25)));
    await settle();
    clock.advance(5_000);
    expect(await result).toMatchObject({ error: 'no connection to the relay within 5 s' });
  });

  test('is said at once when the caller stops, and the connection ends', async () => {
    const { port, came } = await silent('220 hello\r\n');
    const { send, clock } = sending();
    const abort = new AbortController();
    const result = send(request(relayAt(port), { signal: abort.signal }));
    const closed = new Promise((resolve) => void came.then((socket) => socket.once('close', resolve)));
    await came;
    abort.abort();
    expect(await result).toMatchObject({ kind: 'unanswered', failure: 'aborted' });
    await closed;
    expect(await send(request(relayAt(port), { signal: abort.signal }))).toMatchObject({
      failure: 'aborted',
    });
    expect(clock.pendingTimers).toBe(0);
  });

  test.each([
    ['that is no SMTP', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['of one endless line', 'x'.repeat(100_000)],
  ])('a greeting %s breaks the connection', async (_, greeting) => {
    const { port } = await silent(greeting);
    const { send } = sending();
    expect(await send(request(relayAt(port)))).toMatchObject({ kind: 'unanswered', failure: 'broken' });
  });

  test.each([
    ['the sender', '250 a', '000 b'],
    ['the sender', '250 a', '399 b'],
    ['the recipient', '250 a', '250 b', '150 c'],
    ['the recipient', '250 a', '250 b', '354 c'],
    ['the recipient', '250 a', '250 b', '650 c'],
    ['the message', '250 a', '250 b', '250 c', '354 d', '354 e'],
  ])(
    'an answer to %s that SMTP does not have there says nothing about the mail: %s',
    async (_, ...replies) => {
      const { port, came } = await silent('220 hello\r\n');
      void came.then((socket) => {
        const next = () => socket.write(`${replies.shift() ?? '221 bye'}\r\n`);
        socket.on('data', next);
        next();
      });
      const { send } = sending();
      expect(await send(request(relayAt(port)))).toMatchObject({
        failure: 'broken',
        error: 'the relay gave an answer that SMTP does not allow at this step',
      });
    },
  );

  test('the error says that the relay does not begin TLS', async () => {
    const taking = await server({ startTls: true });
    const { send } = sending();
    expect(await send(request(relayAt(taking.port, { tls: 'implicit' })))).toMatchObject({
      failure: 'certificate',
      error: expect.stringContaining('does not speak TLS at this port'),
    });
  });

  test('the error says that no relay listens', async () => {
    const { port } = await silent();
    for (const close of closing.splice(0)) await close();
    const { send } = sending();
    expect(await send(request(relayAt(port)))).toEqual({
      kind: 'unanswered',
      failure: 'unreachable',
      error: 'cannot connect to the relay (ECONNREFUSED)',
    });
  });

  test('the error says that the name does not exist', async () => {
    const gone = Object.assign(new Error('gone'), { code: 'ENOTFOUND' });
    const { send } = sending({ resolve: () => Promise.reject(gone) });
    expect(await send(request(relayAt(25)))).toMatchObject({
      failure: 'unresolved',
      error: 'cannot resolve the host name of the relay (ENOTFOUND)',
    });
  });
});

describe('connections', () => {
  test('many mails share five connections', async () => {
    const taking = await server();
    const { send } = sending();
    const relay = relayAt(taking.port);
    const results = await Promise.all(Array.from({ length: 60 }, () => send(request(relay))));
    expect(results.every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(taking.mails).toHaveLength(60);
    expect(taking.connections).toBe(5);
  });

  test('a single mail leaves no connection open', async () => {
    const taking = await server();
    const { send } = sending();
    await send(request(relayAt(taking.port)));
    await send(request(relayAt(taking.port)));
    expect(taking.connections).toBe(2);
  });

  test('a connection carries at most 100 mails', async () => {
    const taking = await server();
    const { send } = sending();
    const relay = relayAt(taking.port);
    await Promise.all(Array.from({ length: 510 }, () => send(request(relay))));
    const counts = Map.groupBy(taking.mails, ({ connection }) => connection);
    expect(Math.max(...[...counts.values()].map((mails) => mails.length))).toBeLessThanOrEqual(100);
  });

  test('after the relay ends a used connection, the mail goes over a new one', async () => {
    const taking = await server();
    taking.refuse('used', { code: 421, text: '4.7.0 enough' });
    const { send } = sending();
    const relay = relayAt(taking.port);
    const results = await Promise.all(Array.from({ length: 20 }, () => send(request(relay))));
    expect(results.every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(taking.mails).toHaveLength(20);
  });

  test('a mail stops waiting for a connection when the caller stops, or after 15 s', async () => {
    const taking = await server();
    const release = taking.hold();
    const { send, clock } = sending();
    const relay = relayAt(taking.port);
    const first = Array.from({ length: 5 }, () => send(request(relay)));
    await taking.received(5);
    const abort = new AbortController();
    const stopped = send(request(relay, { signal: abort.signal }));
    const waiting = send(request(relay));
    abort.abort();
    expect(await stopped).toMatchObject({ failure: 'aborted' });
    clock.advance(15_000);
    expect(await waiting).toMatchObject({ failure: 'no-connection-free' });
    expect((await Promise.all(first)).map((result) => result.kind)).toEqual(
      Array.from({ length: 5 }, () => 'unanswered'),
    );
    release();
    expect(await send(request(relay))).toEqual({ kind: 'accepted' });
    expect(clock.pendingTimers).toBe(0);
  });
});
