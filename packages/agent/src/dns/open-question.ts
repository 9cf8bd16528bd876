import { randomInt } from 'node:crypto';
import { connect, isIPv6 } from 'node:net';
import { onAbort } from '@svc/shared/waiting.ts';
import { afterReading, type Bounded, Deadline } from '../deadline.ts';
import { localFailureOf } from '../local-failure.ts';
import type { KnownServer } from './known-server.ts';
import { type DnsMessage, type DnsQuestion, decodeMessage, encodeQuery, RCODE } from './packet.ts';
import { type Cancel, isAnswerTo, type Query } from './query.ts';
import { type ServerAddress, serverName } from './servers.ts';
import { SILENT_AFTER_MS, type Silence } from './silence.ts';

/** How long and how often servers are asked before a question is given up. */
export type AskPolicy = {
  /**
   * The servers, at least one. They are asked in this order,
   * round after round, but silent servers are asked last.
   */
  servers: readonly ServerAddress[];
  /**
   * Returns the wait between try `n` (from 0) and the next
   * try, ms. An answer to an earlier try is still accepted.
   */
  waitMs: (n: number) => number;
  /** Maximum number of tries; may be Infinity when `timeoutMs` is not. */
  tries: number;
  /** Bound on the whole question, ms; may be Infinity. */
  timeoutMs: number;
};

export type DnsReply =
  /** A server knows the answer: RCODE 0, or 3 (no such name). */
  | { kind: 'answer'; message: DnsMessage }
  /**
   * Each server refused (SERVFAIL, REFUSED, a referral), sent
   * nothing readable or could not be reached. At least one has replied.
   */
  | { kind: 'failed'; why: string }
  /** At least one server did not answer in time, and no server gave an answer. */
  | { kind: 'silent'; why: string }
  /**
   * No server could be reached (for example, connection refused, no route, or no socket left), or this machine could
   * not fetch the rest of a truncated answer, or no server answers any question about any name. This says something
   * about the agent's own network and nothing about the name.
   */
  | { kind: 'unreachable'; why: string }
  /** The client was closed. */
  | { kind: 'unable'; why: string };

/**
 * Silence about one name after which another name is queried, ms, unless
 * the second try comes earlier. It is short, so that short time-outs leave time for this test.
 */
const LISTEN_AFTER_MS = 100;

/** The state that all questions of a client share. */
type Shared = {
  readonly silence: Silence;
  readonly now: () => number;
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal;
};

/** One question on its way through the servers. */
export class OpenQuestion implements Bounded {
  readonly #question: DnsQuestion;
  readonly #policy: AskPolicy;
  readonly #shared: Shared;
  readonly #startedAt: number;
  readonly #settle: (reply: DnsReply) => void;
  /**
   * Servers that may still answer. A server that refused to answer, sent a malformed answer
   * over TCP, or could not be reached, is removed. The server to ask next comes first.
   */
  readonly #hopeful: KnownServer[];
  /** When each server was first asked. Servers that have answered since are left out. */
  readonly #unheard = new Map<KnownServer, number>();
  readonly #triesAt = new Map<KnownServer, number>();
  /** Servers that are asked again over TCP, because their answer over UDP was truncated. */
  readonly #overTcp = new Set<KnownServer>();
  readonly #reasons: string[] = [];
  readonly #cancels: Cancel[] = [];
  readonly #deadline: Deadline | undefined;
  #unregister: Cancel = () => {};
  #newest: KnownServer | undefined;
  #wait: NodeJS.Timeout | undefined;
  #tries = 0;
  #ignored = 0;
  /** Whether at least one server has sent something for this question, be it a refusal or garbage. */
  #isHeard = false;
  /** Whether a server has refused, or was lost after it had answered, and this machine is not the cause. */
  #isRefused = false;
  #isDone = false;
  #askForOther: (name: string) => void = () => {};

  constructor(
    question: DnsQuestion,
    policy: AskPolicy,
    servers: KnownServer[],
    shared: Shared,
    settle: (reply: DnsReply) => void,
  ) {
    this.#question = question;
    this.#policy = policy;
    this.#shared = shared;
    this.#startedAt = shared.now();
    this.#settle = settle;
    this.#hopeful = servers;
    if (Number.isFinite(policy.timeoutMs)) {
      this.#deadline = new Deadline(this, policy.timeoutMs);
    }
  }

  /**
   * Starts the question.
   *
   * @param askForOther function that asks the servers for another name, to test whether they answer at all
   */
  start(askForOther: (name: string) => void): void {
    this.#askForOther = askForOther;
    this.#unregister = onAbort(this.#shared.closing, this.#stopped);
    this.#shared.silence.recordQuestion(this.#question.name, this.#startedAt);
    this.next();
  }

  readonly cancel = (): void => {
    if (!this.#isDone) this.#noteEnd();
    this.#isDone = true;
    this.#unregister();
    this.#deadline?.end();
    clearTimeout(this.#wait);
    for (const cancel of this.#cancels) cancel();
  };

  readonly next = (): void => {
    clearTimeout(this.#wait);
    const server = this.#tries < this.#policy.tries ? this.#hopeful.shift() : undefined;
    if (server === undefined) {
      // The answer to the last try may have arrived in time and still be unread.
      afterReading(() => this.#givenUp());
      return;
    }
    this.#hopeful.push(server);
    if (this.#tries > 0 && !this.#isHeard) this.#listenForOthers();
    const waitMs = this.#policy.waitMs(this.#tries++);
    if (this.#tries === 1 && waitMs > LISTEN_AFTER_MS) this.#waitAndListen(waitMs);
    else this.#wait = setTimeout(this.next, waitMs);
    this.#try(server);
  };

  /**
   * Starts the first wait. After {@link LISTEN_AFTER_MS} of silence, it queries another name
   * within this wait: an attempt with a short time-out has no other wait that is long enough.
   */
  #waitAndListen(waitMs: number): void {
    this.#wait = setTimeout(() => {
      this.#wait = setTimeout(this.next, waitMs - LISTEN_AFTER_MS);
      if (!this.#isHeard) this.#listenForOthers();
    }, LISTEN_AFTER_MS);
  }

  /**
   * Asks for another name, to find out whether the servers answer at
   * all, if {@link Silence.otherNameToAsk} has a name for this test.
   */
  #listenForOthers(): void {
    const { name } = this.#question;
    const { silence, now } = this.#shared;
    const other = silence.otherNameToAsk(name, this.#startedAt, now());
    if (other !== null) this.#askForOther(other);
  }

  /**
   * Records the end of the question. If the servers were silent for {@link SILENT_AFTER_MS}, the question's
   * name counts as given up, even when the caller cancelled the question before its policy ended.
   */
  #noteEnd(): void {
    const { silence, now } = this.#shared;
    const { name } = this.#question;
    silence.recordEnd(name);
    if (!this.#isHeard && now() - this.#startedAt >= SILENT_AFTER_MS) silence.recordGivenUp(name);
  }

  #noteHeard(): void {
    this.#isHeard = true;
    this.#shared.silence.recordReply(this.#question.name, this.#shared.now());
  }

  /**
   * Sends one try. Every second try to a server has EDNS if the first had none, and no
   * EDNS if the first had it, because some servers and firewalls drop queries with EDNS.
   *
   * A further try leaves from a port that was opened since the question began. A port keeps its
   * sender address, and no answer reaches it any more after this machine has lost that address.
   */
  #try(server: KnownServer): void {
    const earlier = this.#triesAt.get(server) ?? 0;
    this.#triesAt.set(server, earlier + 1);
    if (earlier === 0) this.#unheard.set(server, this.#shared.now());
    this.#newest = server;
    const withEdns = earlier % 2 === 0 ? server.takesEdns : !server.takesEdns;
    this.#send(server, withEdns, earlier === 0 ? undefined : this.#startedAt);
  }

  #send(server: KnownServer, withEdns: boolean, notBefore?: number): void {
    const query = {
      question: this.#question,
      withEdns,
      answered: (message: DnsMessage) => this.#takeReply(server, message, withEdns),
      failed: (code: string) => this.#lost(server, code),
      garbage: this.#garbage,
    };
    this.#cancels.push(server.udp.send(query, notBefore));
  }

  #takeReply(server: KnownServer, message: DnsMessage, withEdns: boolean): void {
    server.recordReply();
    this.#noteHeard();
    this.#unheard.delete(server);
    if (knowsName(message)) {
      if (withEdns) server.answeredEdns();
      else if (server.takesEdns) server.answeredPlainOnly();
    }
    if (!message.isTruncated) this.#answered(server, message, withEdns);
    else if (!this.#overTcp.has(server)) this.#askOverTcp(server);
  }

  #askOverTcp(server: KnownServer): void {
    this.#overTcp.add(server);
    this.#cancels.push(
      queryOverTcp(server.address, {
        question: this.#question,
        withEdns: false,
        answered: (message) => this.#answered(server, message, false),
        failed: (code) => this.#lost(server, code, 'over TCP, after a truncated answer'),
        garbage: this.#garbage,
      }),
    );
  }

  #answered(server: KnownServer, message: DnsMessage, withEdns: boolean): void {
    if (this.#isDone) return;
    const { rcode, isReferral } = message;
    if (knowsName(message)) {
      this.#finish({ kind: 'answer', message });
    } else if (withEdns && EDNS_REFUSALS.has(rcode)) {
      this.#send(server, false);
    } else {
      this.#isRefused = true;
      const said = isReferral ? 'a referral to other servers' : (RCODE_NAMES[rcode] ?? `RCODE ${rcode}`);
      this.#discard(server, `${said} from ${serverName(server.address)}`);
    }
  }

  #lost(server: KnownServer, code: string, how = ''): void {
    if (this.#isDone) return;
    if (this.#isHeard && localFailureOf(code, isIPv6(server.address.host) ? 6 : 4) === null)
      this.#isRefused = true;
    const what = code === 'EBADRESP' ? 'malformed answer' : code;
    this.#discard(server, `${what} from ${serverName(server.address)}${how === '' ? '' : ` ${how}`}`);
  }

  /** Discards a server that has nothing more to say, and asks the next server at once. */
  #discard(server: KnownServer, reason: string): void {
    const index = this.#hopeful.indexOf(server);
    if (index < 0) return;
    this.#hopeful.splice(index, 1);
    this.#reasons.push(reason);
    if (this.#hopeful.length === 0) this.#givenUp();
    else this.next();
  }

  readonly #garbage = (): void => {
    this.#ignored += 1;
    this.#noteHeard();
  };

  readonly #stopped = (): void => {
    this.#finish({ kind: 'unable', why: 'the agent is stopping' });
  };

  onDeadline(): void {
    this.#givenUp();
  }

  #givenUp(): void {
    if (this.#isDone) return;
    if (this.#hopeful.length === 0) {
      this.#noneLeft();
      return;
    }
    const malformed = this.#ignored === 0 ? [] : [`${this.#ignored} malformed answers ignored`];
    const namesOf = (servers: KnownServer[]) => servers.map(({ address }) => serverName(address)).join(', ');
    const silent = this.#hopeful.filter((server) => !this.#overTcp.has(server));
    const truncated = this.#hopeful.filter((server) => this.#overTcp.has(server));
    const none = [
      ...(silent.length === 0 ? [] : [`no answer from ${namesOf(silent)}`]),
      ...(truncated.length === 0
        ? []
        : [`no answer over TCP, after a truncated one, from ${namesOf(truncated)}`]),
    ];
    const { silence, now } = this.#shared;
    const isOurs = !this.#isHeard && silence.isTotal(this.#startedAt, now());
    const why = [...none, ...malformed, ...this.#reasons].join(', ');
    if (isOurs) this.#finish({ kind: 'unreachable', why: `${why}, nor about any other name` });
    else this.#finish({ kind: 'silent', why });
  }

  /** Ends the question, because every server said that it cannot help or could not be reached. */
  #noneLeft(): void {
    const { silence, now } = this.#shared;
    if (!this.#isHeard) silence.recordUnreachable(now());
    this.#finish({ kind: this.#isRefused ? 'failed' : 'unreachable', why: this.#reasons.join(', ') });
  }

  #finish(reply: DnsReply): void {
    if (this.#isDone) return;
    this.cancel();
    if (reply.kind === 'answer') this.#blameUnheard();
    this.#settle(reply);
  }

  /**
   * Records the servers that left this question unanswered while another server answered it.
   * A server that was asked last, and only once, has had no time to answer and is left out.
   */
  #blameUnheard(): void {
    for (const [server, sentAt] of this.#unheard) {
      const hadItsTime = server !== this.#newest || (this.#triesAt.get(server) ?? 0) > 1;
      if (hadItsTime) server.leftUnanswered(sentAt);
    }
  }
}

/** Whether the server knows the name, or knows that it does not exist: RCODE 0 or 3, and no referral. */
export function knowsName({ rcode, isReferral }: DnsMessage): boolean {
  return !isReferral && (rcode === RCODE.ok || rcode === RCODE.noSuchName);
}

/**
 * RCODEs with which servers that do not know EDNS answer a query with EDNS
 * (RFC 6891, section 6.2.2; RFC 8906). Most SERVFAIL answers have another
 * cause, so the query is repeated without EDNS to find out.
 */
const EDNS_REFUSALS = new Set([RCODE.formatError, RCODE.serverFailure, RCODE.notImplemented]);

const RCODE_NAMES: Record<number, string> = {
  [RCODE.formatError]: 'FORMERR',
  [RCODE.serverFailure]: 'SERVFAIL',
  [RCODE.notImplemented]: 'NOTIMP',
  [RCODE.refused]: 'REFUSED',
};

/**
 * Asks one question over its own TCP connection (RFC 7766), for answers that do not fit into a
 * datagram. It reads one message, at most 64 KiB. If this message is not the answer, the query fails.
 */
function queryOverTcp(server: ServerAddress, query: Query): Cancel {
  const id = randomInt(0x1_0000);
  const packet = encodeQuery(id, query.question, query.withEdns);
  const socket = connect({ host: server.host, port: server.port, autoSelectFamily: false, noDelay: true });
  // At first, this buffer holds only the two bytes of the message's length. The message is appended later.
  let frame = Buffer.alloc(2);
  let filled = 0;
  let isDone = false;

  const end = (settle: () => void): void => {
    if (isDone) return;
    isDone = true;
    socket.destroy();
    settle();
  };
  socket.once('connect', () => {
    const framed = Buffer.alloc(2 + packet.length);
    framed.writeUInt16BE(packet.length, 0);
    packet.copy(framed, 2);
    socket.write(framed);
  });
  socket.on('error', (error: NodeJS.ErrnoException) => end(() => query.failed(error.code ?? 'EUNKNOWN')));
  socket.on('close', () => end(() => query.failed('ECONNRESET')));
  const take = (chunk: Buffer): void => {
    const taken = chunk.copy(frame, filled);
    filled += taken;
    if (filled < frame.length) return;
    if (frame.length === 2) {
      frame = Buffer.concat([frame, Buffer.alloc(frame.readUInt16BE(0))]);
      if (frame.length > 2) {
        take(chunk.subarray(taken));
        return;
      }
    }
    const message = answerIn(frame.subarray(2), id, query);
    end(() => (message === null ? query.failed('EBADRESP') : query.answered(message)));
  };
  socket.on('data', take);
  return () => end(() => {});
}

function answerIn(data: Buffer, id: number, query: Query) {
  try {
    const message = decodeMessage(data);
    return message.id === id && !message.isTruncated && isAnswerTo(message, query.question) ? message : null;
  } catch {
    // The bytes are not a DNS message, so the caller reports a failed query.
    return null;
  }
}
