import type { SecureContext } from 'node:tls';
import type { Clock } from '@svc/shared/clock.ts';
import { trustedContext } from '@svc/shared/server-trust.ts';
import { onAbort } from '@svc/shared/waiting.ts';
import { type Resolve, resolveFairly } from '../names.ts';
import { type MailFailure, type MailResult, MailStopped, mailFailure } from './mail-result.ts';
import type { SmtpRelay } from './relay.ts';
import { SmtpSession } from './session.ts';

/** Time limit for resolving the name and opening the connection, ms. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Time limit for the whole send, ms: the wait for a connection, the dialogue, and the relay's answer. */
const TOTAL_TIMEOUT_MS = 15_000;
/** Maximum number of connections to the relay at once. Relays refuse clients that open many connections. */
const CONNECTIONS = 5;
/**
 * Maximum number of mails over one connection. Some relays limit it (Exim: `smtp_accept_max_per_connection`).
 */
const MAILS_PER_CONNECTION = 100;

export type MailRequest = {
  readonly relay: SmtpRelay;
  /**
   * Sender and recipient (`to`) of the envelope. The addresses are ASCII if the relay may refuse other
   * characters.
   */
  readonly from: string;
  readonly to: string;
  /** The message as RFC 5322 defines it, with headers and body. */
  readonly message: Buffer;
  readonly signal: AbortSignal;
};

/** Hands one mail to the relay. It does not retry and never rejects. */
export type SendMail = (request: MailRequest) => Promise<MailResult>;

export type MailParts = {
  readonly clock: Clock;
  readonly resolve?: Resolve;
  /** PEM certificates of authorities that are trusted in addition to those of this process. */
  readonly ca?: readonly string[];
  /** The name that svc sends to relays in EHLO (`SVC_MAIL_HELO`). */
  readonly helo?: string | undefined;
  /**
   * Whether this coordinator may send now. It is called when a mail gets its turn for a connection, and again
   * when a new connection is open.
   */
  readonly maySend?: () => boolean;
};

/**
 * Creates a function that sends mails over at most 5 connections. A connection is reused only for a mail that
 * is already waiting. Idle connections are not kept: the relay may close them, and the first attempt of the
 * next alert would fail.
 *
 * The relay's address is exempt from the egress guard, because the operator has set it. No proxy is used.
 */
export function createSendMail({
  clock,
  resolve = resolveFairly,
  ca = [],
  helo,
  maySend = () => true,
}: MailParts): SendMail {
  let context: SecureContext | undefined;
  const secureContext = () => (context ??= trustedContext(ca));
  const parts = { resolve, secureContext, helo };
  const connections = new Connections();

  return async (request) => {
    const stop = new AbortController();
    const end = (failure: MailFailure, error: string) => stop.abort(new MailStopped(failure, error));
    let hasPlace = false;
    const cancelTotal = clock.after(TOTAL_TIMEOUT_MS, () => {
      if (hasPlace) end('timeout', 'no answer of the relay within 15 s');
      else end('no-connection-free', 'other mails kept all connections to the relay for 15 s');
    });
    const forget = onAbort(request.signal, () => end('aborted', 'svc is stopping'));
    const stopUnlessLeading = () => {
      if (!maySend()) end('aborted', 'this coordinator does not lead at this moment');
    };
    const dialled = async () => {
      const cancel = clock.after(CONNECT_TIMEOUT_MS, () =>
        end('timeout', 'no connection to the relay within 5 s'),
      );
      const session = await SmtpSession.open(request.relay, parts, stop.signal, cancel).finally(cancel);
      stopUnlessLeading();
      return session;
    };
    try {
      return await connections.use(request, stop.signal, dialled, () => {
        hasPlace = true;
        stopUnlessLeading();
      });
    } catch (error) {
      return mailFailure(stop.signal.aborted ? stop.signal.reason : error, request.relay.credentials);
    } finally {
      cancelTotal();
      forget();
    }
  };
}

/** An open connection and the number of mails that went over it. */
type Used = { readonly session: SmtpSession; readonly relay: SmtpRelay; mails: number };

/**
 * The connections to the relay, at most {@link CONNECTIONS}. When a mail is sent, its connection goes to the
 * mail that has waited longest, or its place if the connection cannot be used again.
 */
class Connections {
  readonly #waiting = new Set<(used: Used | null) => void>();
  #taken = 0;

  /** Sends the mail over the connection of a mail that was just sent, or over a new connection. */
  async use(
    request: MailRequest,
    signal: AbortSignal,
    open: () => Promise<SmtpSession>,
    onPlace: () => void,
  ): Promise<MailResult> {
    let used = await this.#takePlace(signal);
    onPlace();
    let left: Used | null = null;
    try {
      if (used !== null && used.relay !== request.relay) {
        used.session.quit();
        used = null;
      }
      if (used !== null && (await sendOverUsed(used.session, request, signal))) {
        left = { ...used, mails: used.mails + 1 };
        return { kind: 'accepted' };
      }
      const session = await open();
      // After a failure the session is not passed on: `left` stays null.
      await sendOverNew(session, request, signal);
      left = { session, relay: request.relay, mails: 1 };
      return { kind: 'accepted' };
    } finally {
      this.#passPlace(left);
    }
  }

  async #takePlace(signal: AbortSignal): Promise<Used | null> {
    if (this.#taken < CONNECTIONS) {
      this.#taken += 1;
      return null;
    }
    const { promise, resolve, reject } = Promise.withResolvers<Used | null>();
    this.#waiting.add(resolve);
    const forget = onAbort(signal, () => {
      if (this.#waiting.delete(resolve)) reject(signal.reason);
    });
    try {
      return await promise;
    } finally {
      forget();
    }
  }

  #passPlace(left: Used | null): void {
    const [next] = this.#waiting;
    const isWanted = next !== undefined && left !== null && left.mails < MAILS_PER_CONNECTION;
    if (!isWanted) left?.session.quit();
    if (next === undefined) this.#taken -= 1;
    else {
      this.#waiting.delete(next);
      next(isWanted ? left : null);
    }
  }
}

/** Sends over a new connection, which is closed when the send fails. */
async function sendOverNew(session: SmtpSession, request: MailRequest, signal: AbortSignal): Promise<void> {
  try {
    await session.send(request, signal);
  } catch (error) {
    session.quit();
    throw error;
  }
}

/**
 * Sends over a connection that was used before.
 *
 * @returns true: the mail was sent; false: the relay closed the connection before it took the mail
 * @throws the error of any other failure
 */
async function sendOverUsed(
  session: SmtpSession,
  request: MailRequest,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await session.send(request, signal);
    return true;
  } catch (error) {
    session.quit();
    if (signal.aborted || !isEndOfConnection(error)) throw error;
    return false;
  }
}

/** Whether the relay ended the connection before it got the message. */
function isEndOfConnection(error: unknown): boolean {
  if (!(error instanceof Error) || !('command' in error)) return false;
  const isClosing = 'responseCode' in error && error.responseCode === 421;
  return error.command === 'API' || (error.command === 'MAIL FROM' && isClosing);
}
