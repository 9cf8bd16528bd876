import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { type MimePart, parseMail } from '../mime.ts';
import { type TestCertificate, TRUSTED } from '../tls/certificates.ts';

export type ReceivedMail = {
  readonly from: string;
  readonly to: string;
  readonly raw: string;
  readonly parsed: MimePart;
  /** Whether the mail came over TLS. */
  readonly isSecure: boolean;
  /** The logged-in user. */
  readonly user: string | null;
  /** The name in EHLO. */
  readonly greeting: string;
  /** Id of the connection, which may carry several mails. */
  readonly connection: string;
};

/** The steps of the dialogue. `used`: the step `sender`, over a connection that has carried a mail. */
export type MailStep = 'connect' | 'login' | 'sender' | 'used' | 'recipient' | 'message';

export type MailServerOptions = {
  /** Whether TLS begins with the connection. */
  readonly isImplicit?: boolean;
  /** Whether the server offers STARTTLS, and demands it before a login. */
  readonly startTls?: boolean;
  readonly certificate?: TestCertificate;
  /** The user who may log in; null: no login is needed. */
  readonly account?: { readonly user: string; readonly password: string } | null;
  /** Maximum size of a message, bytes. */
  readonly mostOfAMessage?: number;
};

type Reply = { readonly code: number; readonly text: string };

/** An SMTP server on a free loopback port: mailboxes, and refusals at each step. */
export class MailServer {
  readonly mails: ReceivedMail[] = [];
  readonly port: number;
  readonly #server: SMTPServer;
  /** Replies by step; a reply for one recipient takes precedence. */
  readonly #refusals = new Map<string, Reply>();
  /** Settles when held messages are answered; null: none is held. */
  #held: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null;
  #waiting: { count: number; resolve: () => void }[] = [];
  connections = 0;

  private constructor(server: SMTPServer) {
    this.#server = server;
    this.port = (server.server.address() as AddressInfo).port;
  }

  static async start(options: MailServerOptions = {}): Promise<MailServer> {
    const { isImplicit = false, startTls = false, certificate = TRUSTED, account = null } = options;
    // The server calls these only after it listens.
    const self: { server: MailServer | null } = { server: null };
    const at = (step: MailStep, key?: string) => self.server?.refusal(step, key) ?? null;
    const server = new SMTPServer({
      ...certificate,
      secure: isImplicit,
      disabledCommands: [...(startTls ? [] : ['STARTTLS']), ...(account === null ? ['AUTH'] : [])],
      authOptional: account === null,
      allowInsecureAuth: !startTls,
      ...(options.mostOfAMessage === undefined ? {} : { size: options.mostOfAMessage }),
      hideSMTPUTF8: true,
      closeTimeout: 1_000,
      disableReverseLookup: true,
      onConnect(_session, done) {
        if (self.server !== null) self.server.connections += 1;
        done(at('connect'));
      },
      onAuth({ username, password }, _session, done) {
        const isRight = username === account?.user && password === account?.password;
        const refused = at('login') ?? (isRight ? null : refusal(535, `5.7.8 wrong: ${password}`));
        if (refused === null) done(null, { user: username });
        else done(refused);
      },
      onMailFrom(_address, { transaction }, done) {
        done((transaction > 1 ? at('used') : null) ?? at('sender'));
      },
      onRcptTo({ address }, _session, done) {
        done(at('recipient', address));
      },
      onData(stream, session, done) {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const refused = stream.sizeExceeded ? refusal(552, '5.3.4 too large') : at('message');
          if (refused !== null) return done(refused);
          const { mailFrom, rcptTo } = session.envelope;
          const raw = Buffer.concat(chunks).toString('latin1');
          self.server?.deliver(
            {
              from: mailFrom === false ? '' : mailFrom.address,
              to: rcptTo.map(({ address }) => address).join(','),
              raw,
              parsed: parseMail(raw),
              isSecure: session.secure,
              user: typeof session.user === 'string' ? session.user : null,
              greeting: session.hostNameAppearsAs || '',
              connection: session.id,
            },
            () => done(null, 'queued'),
          );
        });
      },
    });
    // Errors of clients that break off or do not trust the certificate are ignored.
    server.on('error', () => {});
    server.listen(0, '127.0.0.1');
    await once(server.server, 'listening');
    self.server = new MailServer(server);
    return self.server;
  }

  /** Refuses a step from now on; null: accepts it again. */
  refuse(step: MailStep, reply: Reply | null, recipient = ''): void {
    if (reply === null) this.#refusals.delete(`${step}${recipient}`);
    else this.#refusals.set(`${step}${recipient}`, reply);
  }

  /** Delays the answer to every further message until the returned function is called. */
  hold(): () => void {
    this.#held = Promise.withResolvers<void>();
    return () => this.#release();
  }

  #release(): void {
    this.#held?.resolve();
    this.#held = null;
  }

  /** Resolves with the first `count` mails when they have come, held ones included. */
  async received(count: number): Promise<readonly ReceivedMail[]> {
    if (this.mails.length < count)
      await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
    return this.mails.slice(0, count);
  }

  /** For the server's own use. */
  refusal(step: MailStep, recipient = ''): Error | null {
    const reply = this.#refusals.get(`${step}${recipient}`) ?? this.#refusals.get(step);
    return reply === undefined ? null : refusal(reply.code, reply.text);
  }

  /** For the server's own use. */
  deliver(mail: ReceivedMail, taken: () => void): void {
    this.mails.push(mail);
    for (const { count, resolve } of this.#waiting) if (this.mails.length >= count) resolve();
    if (this.#held === null) taken();
    else void this.#held.promise.then(taken);
  }

  async close(): Promise<void> {
    this.#release();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

function refusal(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}
