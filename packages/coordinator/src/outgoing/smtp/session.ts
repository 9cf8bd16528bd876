import { once } from 'node:events';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { hostname } from 'node:os';
import type { SecureContext } from 'node:tls';
import { SvcError } from '@svc/shared/errors.ts';
import { checkAlternativeNames } from '@svc/shared/server-trust.ts';
import { onAbort } from '@svc/shared/waiting.ts';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { Resolve } from '../names.ts';
import type { SmtpRelay } from './relay.ts';

export type SessionParts = {
  readonly resolve: Resolve;
  /** Makes the TLS context. It is called once for each connection that may begin TLS. */
  readonly secureContext: () => SecureContext;
  /** The name that svc sends in EHLO; left out: see {@link greetingOf}. */
  readonly helo?: string | undefined;
};

/** One mail: the addresses of its envelope, and the message as RFC 5322 defines it. */
export type Envelope = { readonly from: string; readonly to: string; readonly message: Buffer };

/** Maximum number of bytes of a relay's answer that nodemailer keeps. */
const MOST_OF_AN_ANSWER = 64 * 1_024;
/**
 * nodemailer's own time limits, ms. They are longer than the caller's limit, whose signal ends a send first.
 */
const NEVER_LONGER_MS = 20_000;

type Done<T> = (error: Error | null | undefined, value?: T) => void;

/**
 * One connection to a relay, logged in if the relay has credentials. {@link open} and {@link send} reject
 * with an error of nodemailer (`code`, `command`, `responseCode`, `response`, `originalCode`), with an error
 * of the socket or the name lookup during the dial, or with `mail-stopped` after {@link destroy}.
 */
export class SmtpSession {
  readonly #connection: SMTPConnection;
  readonly #broken: Promise<never>;
  readonly #break: (error: Error) => void;

  private constructor(connection: SMTPConnection) {
    this.#connection = connection;
    const { promise, reject } = Promise.withResolvers<never>();
    // Without this handler, a connection that breaks while no step waits for it would cause an unhandled
    // rejection.
    promise.catch(() => {});
    connection.on('error', reject);
    this.#broken = promise;
    this.#break = reject;
  }

  /**
   * Dials, greets, begins TLS as `relay.tls` says, and logs in if the relay has credentials. The signal ends
   * each of these steps.
   *
   * @param onDialled called when the connection is open
   */
  static async open(
    relay: SmtpRelay,
    parts: SessionParts,
    signal: AbortSignal,
    onDialled: () => void,
  ): Promise<SmtpSession> {
    const { SMTPConnection } = await loadNodemailer();
    const socket = await dial(relay, parts.resolve, signal);
    onDialled();
    const name = parts.helo ?? greetingOf(hostname(), socket.localAddress);
    const options = { ...optionsOf(relay, parts), name, connection: socket };
    const session = new SmtpSession(new SMTPConnection(options));
    const forget = onAbort(signal, () => session.destroy());
    try {
      await session.#step<void>((done) => session.#connection.connect(done));
      const { credentials } = relay;
      if (credentials !== null) {
        const auth = { user: credentials.user, pass: credentials.password };
        await session.#step<unknown>((done) => session.#connection.login(auth, done));
      }
      return session;
    } catch (error) {
      session.destroy();
      throw error;
    } finally {
      forget();
    }
  }

  /** Hands one message to the relay. The promise resolves when the relay has taken the message. */
  async send({ from, to, message }: Envelope, signal: AbortSignal): Promise<void> {
    const forget = onAbort(signal, () => this.destroy());
    try {
      const envelope = { from, to: [to], size: message.length };
      await this.#step<unknown>((done) => this.#connection.send(envelope, message, done));
    } finally {
      forget();
    }
  }

  /** Sends QUIT, and does not wait for the answer. */
  quit(): void {
    this.#connection.quit();
  }

  /** Closes the connection at once. It may be called twice. */
  destroy(): void {
    // nodemailer drops the current step without calling back, so the step is rejected here.
    this.#break(new SvcError('mail-stopped', 'svc closed the connection to the relay'));
    this.#connection.close();
  }

  #step<T>(begin: (done: Done<T>) => void): Promise<T> {
    const step = new Promise<T>((resolve, reject) => {
      begin((error, value) => {
        if (error) reject(error);
        else resolve(value as T);
      });
    });
    return Promise.race([step, this.#broken]);
  }
}

/**
 * nodemailer's options for each kind of TLS. By default, nodemailer begins STARTTLS if the relay offers it.
 */
const BY_STARTTLS: Readonly<Record<SmtpRelay['tls'], object>> = {
  implicit: {},
  starttls: { requireTLS: true },
  offered: {},
  none: { ignoreTLS: true },
};

/** A domain of several labels (RFC 5321, section 4.1.2: letters, digits and hyphens). */
const DOMAIN =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

/**
 * Whether the text is valid as the name in EHLO: a domain of several labels, or an address literal (RFC 5321,
 * section 4.1.3).
 */
export function isGreeting(text: string): boolean {
  const literal = /^\[(?:IPv6:)?(.+)\]$/.exec(text)?.[1];
  return literal === undefined ? DOMAIN.test(text) : isIP(literal) === (text.startsWith('[IPv6:') ? 6 : 4);
}

/**
 * The name in EHLO: the machine's name if it is a domain, otherwise the connection's local address as a
 * literal (RFC 5321, section 4.1.3), or `[127.0.0.1]` if the address is not known. Some servers refuse other
 * names, such as a name with an underscore (findings/exim-greeting-with-underscore.sh).
 */
export function greetingOf(machine: string, address: string | undefined): string {
  if (DOMAIN.test(machine)) return machine;
  const family = isIP(address ?? '');
  if (family === 0) return '[127.0.0.1]';
  return family === 6 ? `[IPv6:${address?.replace(/%.*$/, '')}]` : `[${address}]`;
}

function optionsOf({ host, port, tls }: SmtpRelay, { secureContext }: SessionParts) {
  return {
    host,
    port,
    secure: tls === 'implicit',
    ...BY_STARTTLS[tls],
    ...(tls === 'none'
      ? {}
      : {
          tls: {
            secureContext: secureContext(),
            checkServerIdentity: checkAlternativeNames,
            // Only a relay on this machine is `offered`, and it often has a self-signed certificate. Refusing
            // such a certificate would gain nothing: svc would then send in clear.
            rejectUnauthorized: tls !== 'offered',
          },
        }),
    connectionTimeout: NEVER_LONGER_MS,
    greetingTimeout: NEVER_LONGER_MS,
    socketTimeout: NEVER_LONGER_MS,
    // 0: `close()` destroys the socket at once. By default,
    // nodemailer waits 5 s for the relay to close its side first.
    socketCloseTimeout: 0,
    maxResponseSize: MOST_OF_AN_ANSWER,
  };
}

/**
 * Opens the connection. nodemailer itself would resolve the name without the resolver that the coordinator's
 * outgoing requests share (`names.ts`).
 */
async function dial({ host, port }: SmtpRelay, resolve: Resolve, signal: AbortSignal): Promise<Socket> {
  const lookup: LookupFunction = (name, options, callback) => {
    resolve(name).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined) callback(new SvcError('ENOTFOUND', `no address for ${name}`), '');
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
  const socket = connect({ host, port, lookup, signal });
  await once(socket, 'connect');
  return socket;
}

/**
 * Loads the parts of nodemailer that svc uses: the dialogue and the composer of messages. Loading takes tens
 * of milliseconds, and the parts take about 18 MiB. So a coordinator that sends no mail does not load them,
 * and a coordinator that sends mails loads them at its start.
 *
 * nodemailer's transports are not used: no transport can end a send by a signal, bound its whole time, or
 * respect the limit on lookup threads. The pooled transport keeps idle connections. The plain SMTP transport
 * opens a connection for each mail, and relays refuse a hundred connections for a hundred alerts.
 */
export async function loadNodemailer() {
  const [dialogue, composer] = await Promise.all([
    import('nodemailer/lib/smtp-connection'),
    import('nodemailer/lib/mail-composer'),
  ]);
  return { SMTPConnection: dialogue.default, MailComposer: composer.default };
}
