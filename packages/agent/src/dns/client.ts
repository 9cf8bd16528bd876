import { type DnsMessage, type DnsQuestion, RCODE } from './packet.ts';
import type { Cancel } from './query.ts';
import { type ServerAddress, serverName } from './servers.ts';
import { SILENT_AFTER_MS, Silence } from './silence.ts';
import { queryOverTcp } from './tcp-query.ts';
import { UdpServer } from './udp-server.ts';

/** How long and how often servers are asked before a question is given up. */
export type AskPolicy = {
  /** Asked in this order, round after round; at least one. */
  servers: readonly ServerAddress[];
  /** How long to wait after try `n` (from 0) before the next, ms. An answer to an earlier try is still taken. */
  waitMs: (n: number) => number;
  /** Tries in all; may be Infinity when `timeoutMs` is not. */
  tries: number;
  /** Bound on the whole, ms; may be Infinity. */
  timeoutMs: number;
};

/**
 * Waits between tries: half a second, then twice as long each time. Datagrams are lost when hundreds of
 * checks start together, and a look-up that sat out the 5 s of resolv.conf would look like a slow target.
 *
 * @param longestMs bound on each wait
 */
export function doublingWaits(longestMs: number): AskPolicy['waitMs'] {
  return (n) => Math.min(longestMs, FIRST_WAIT_MS * 2 ** n);
}

const FIRST_WAIT_MS = 500;

export type DnsReply =
  /** RCODE 0 or 3 (no such name): the servers know. */
  | { kind: 'answer'; message: DnsMessage }
  /** Some server answered that it cannot or will not tell, and none did better. */
  | { kind: 'failed'; why: string }
  | { kind: 'silent'; why: string }
  /**
   * No server could be reached (refused, no route, or nothing left to ask with), or none has answered
   * anything, about whatever name: this says something about our own network, and nothing about the name.
   */
  | { kind: 'unreachable'; why: string }
  /** The client was closed. */
  | { kind: 'unable'; why: string };

/**
 * Asks DNS servers, in the event loop alone: no thread pool, a bounded number of sockets. One client
 * serves all of an agent's look-ups.
 */
export class DnsClient {
  readonly #servers = new Map<string, UdpServer>();
  readonly #silence = new Silence();
  #isClosed = false;

  /**
   * Asks until there is a reply; `settle` is called once, never before this returns.
   *
   * @param question its name canonical, as `canonicalName` gives it
   */
  ask(question: DnsQuestion, policy: AskPolicy, settle: (reply: DnsReply) => void): Cancel {
    if (this.#isClosed) {
      process.nextTick(settle, { kind: 'unable', why: 'the agent is stopping' } satisfies DnsReply);
      return () => {};
    }
    const asking = new Asking(question, policy, { udp: this.#udp, silence: this.#silence }, settle);
    asking.start((name) => this.#askForOther(name, policy));
    return asking.cancel;
  }

  /**
   * No server has answered anything since `since` (monotonic ms), and not about one name alone: for who gives
   * a question up before its policy does.
   */
  isSilentSince(since: number): boolean {
    return this.#silence.isTotal(since, performance.now());
  }

  /** Questions still open are settled as `unable`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  /** Nobody waits for the answer; that there is one is what counts. */
  #askForOther(name: string, { servers, waitMs, timeoutMs }: AskPolicy): void {
    const policy = { servers, waitMs, tries: 4, timeoutMs: Math.min(timeoutMs, OTHER_NAME_MS) };
    if (!this.#isClosed) this.ask({ name, type: 'A' }, policy, () => {});
  }

  readonly #udp = (server: ServerAddress): UdpServer => {
    const key = serverName(server);
    let udp = this.#servers.get(key);
    if (udp === undefined) {
      udp = new UdpServer(server);
      this.#servers.set(key, udp);
    }
    return udp;
  };
}

/** A name that is asked for only to hear whether the servers are there is asked for this long, ms. */
const OTHER_NAME_MS = 10_000;

type Shared = { readonly udp: (server: ServerAddress) => UdpServer; readonly silence: Silence };

/** One question on its way through the servers. */
class Asking {
  readonly #question: DnsQuestion;
  readonly #policy: AskPolicy;
  readonly #shared: Shared;
  readonly #startedAt = performance.now();
  readonly #settle: (reply: DnsReply) => void;
  /** Servers that have not yet said that they cannot help, the next to be asked first. */
  readonly #hopeful: ServerAddress[];
  readonly #reasons: string[] = [];
  readonly #cancels: Cancel[] = [];
  readonly #deadline: NodeJS.Timeout | undefined;
  #wait: NodeJS.Timeout | undefined;
  #tries = 0;
  #ignored = 0;
  /** Some server has said something, if only that it will not tell. */
  #isHeard = false;
  #isDone = false;
  #askForOther: (name: string) => void = () => {};

  constructor(question: DnsQuestion, policy: AskPolicy, shared: Shared, settle: (reply: DnsReply) => void) {
    this.#question = question;
    this.#policy = policy;
    this.#shared = shared;
    this.#settle = settle;
    this.#hopeful = [...policy.servers];
    if (Number.isFinite(policy.timeoutMs)) {
      this.#deadline = setTimeout(() => this.#givenUp(), policy.timeoutMs);
    }
  }

  /** @param askForOther asks for a name that the servers have answered before */
  start(askForOther: (name: string) => void): void {
    this.#askForOther = askForOther;
    this.#shared.silence.asked(this.#question.name, this.#startedAt);
    this.next();
  }

  readonly cancel = (): void => {
    if (!this.#isDone) this.#noteEnd();
    this.#isDone = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#wait);
    for (const cancel of this.#cancels) cancel();
  };

  readonly next = (): void => {
    clearTimeout(this.#wait);
    const server = this.#tries < this.#policy.tries ? this.#hopeful.shift() : undefined;
    if (server === undefined) {
      this.#givenUp();
      return;
    }
    this.#hopeful.push(server);
    if (this.#tries > 0 && !this.#isHeard) this.#listenForOthers();
    const waitMs = this.#policy.waitMs(this.#tries++);
    this.#wait = setTimeout(this.next, waitMs);
    this.#send(server, true);
  };

  /** One name alone has been silent so far: hears whether the servers are there at all. */
  #listenForOthers(): void {
    const { name } = this.#question;
    const other = this.#shared.silence.otherNameToAsk(name, this.#startedAt, performance.now());
    if (other !== null) this.#askForOther(other);
  }

  /** Who asked may have given up earlier than the policy does: that is silence as well. */
  #noteEnd(): void {
    const { silence } = this.#shared;
    const { name } = this.#question;
    silence.ended(name);
    const waitedMs = performance.now() - this.#startedAt;
    if (!this.#isHeard && waitedMs >= SILENT_AFTER_MS) silence.gaveUp(name);
  }

  #heard(): void {
    this.#isHeard = true;
    this.#shared.silence.heard(this.#question.name, performance.now());
  }

  #send(server: ServerAddress, withEdns: boolean): void {
    this.#cancels.push(
      this.#shared.udp(server).send({
        question: this.#question,
        withEdns,
        answered: (message) => {
          this.#heard();
          if (message.isTruncated) this.#overTcp(server);
          else this.#answered(server, message, withEdns);
        },
        failed: (code) => this.#lost(server, code),
        garbage: this.#garbage,
      }),
    );
  }

  #overTcp(server: ServerAddress): void {
    this.#cancels.push(
      queryOverTcp(server, {
        question: this.#question,
        withEdns: false,
        answered: (message) => this.#answered(server, message, false),
        failed: (code) => this.#lost(server, code, 'over TCP, after a truncated answer'),
        garbage: this.#garbage,
      }),
    );
  }

  #answered(server: ServerAddress, message: DnsMessage, withEdns: boolean): void {
    if (this.#isDone) return;
    const { rcode } = message;
    if (rcode === RCODE.ok || rcode === RCODE.noSuchName) {
      this.#finish({ kind: 'answer', message });
    } else if (withEdns && (rcode === RCODE.formatError || rcode === RCODE.notImplemented)) {
      // A server from before EDNS (RFC 6891 section 6.2.2).
      this.#send(server, false);
    } else {
      this.#discard(server, `${RCODE_NAMES[rcode] ?? `RCODE ${rcode}`} from ${serverName(server)}`);
    }
  }

  #lost(server: ServerAddress, code: string, how = ''): void {
    if (this.#isDone) return;
    if (code === 'ECANCELLED') {
      this.#finish({ kind: 'unable', why: 'the agent is stopping' });
      return;
    }
    const what = code === 'EBADRESP' ? 'malformed answer' : code;
    this.#discard(server, `${what} from ${serverName(server)}${how === '' ? '' : ` ${how}`}`);
  }

  /** Asks the next server at once; this one has nothing more to say. */
  #discard(server: ServerAddress, reason: string): void {
    const index = this.#hopeful.indexOf(server);
    if (index < 0) return;
    this.#hopeful.splice(index, 1);
    this.#reasons.push(reason);
    if (this.#hopeful.length === 0) this.#givenUp();
    else this.next();
  }

  readonly #garbage = (): void => {
    this.#ignored++;
    this.#heard();
  };

  #givenUp(): void {
    if (this.#hopeful.length === 0) {
      this.#finish({ kind: this.#isHeard ? 'failed' : 'unreachable', why: this.#reasons.join(', ') });
      return;
    }
    const malformed = this.#ignored === 0 ? [] : [`${this.#ignored} malformed answers ignored`];
    const silent = `no answer from ${this.#hopeful.map(serverName).join(', ')}`;
    const { silence } = this.#shared;
    const isOurs = !this.#isHeard && silence.isTotal(this.#startedAt, performance.now());
    const why = [silent, ...malformed, ...this.#reasons].join(', ');
    if (isOurs) this.#finish({ kind: 'unreachable', why: `${why}, nor about any other name` });
    else this.#finish({ kind: 'silent', why });
  }

  #finish(reply: DnsReply): void {
    if (this.#isDone) return;
    this.cancel();
    this.#settle(reply);
  }
}

const RCODE_NAMES: Record<number, string> = {
  [RCODE.formatError]: 'FORMERR',
  [RCODE.serverFailure]: 'SERVFAIL',
  [RCODE.notImplemented]: 'NOTIMP',
  [RCODE.refused]: 'REFUSED',
};
