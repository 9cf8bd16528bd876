import { isIP } from 'node:net';
import { isLocalFailure } from '../local-failure.ts';
import { KnownServer } from './known-server.ts';
import { type DnsMessage, type DnsQuestion, RCODE } from './packet.ts';
import type { Cancel } from './query.ts';
import { type ServerAddress, serverName } from './servers.ts';
import { queryOverTcp } from './tcp-query.ts';

/** How long and how often servers are asked before a question is given up. */
export type AskPolicy = {
  /** Asked in this order, round after round, those last that were silent; at least one. */
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
  /** Every server answered that it cannot or will not tell, or cannot be reached. */
  | { kind: 'failed'; why: string }
  | { kind: 'silent'; why: string }
  /** This machine could not ask, or the client was closed. */
  | { kind: 'unable'; why: string };

/**
 * Asks DNS servers, in the event loop alone: no thread pool, a bounded number of sockets. One client
 * serves all of an agent's look-ups, and remembers which servers answer (decision 0177).
 */
export class DnsClient {
  readonly #servers = new Map<string, KnownServer>();
  readonly #now: () => number;
  #isClosed = false;

  /** @param now a monotonic clock, ms */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

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
    const servers = this.#inOrder(policy.servers);
    for (const server of servers) if (server.takeRetrial()) askInPassing(server, question);
    const asking = new Asking(question, policy, servers, this.#now, settle);
    asking.next();
    return asking.cancel;
  }

  /** Questions still open are settled as `unable`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#servers.values()].map(({ udp }) => udp.close()));
  }

  /** As listed, but for those that were silent: the last to answer comes before them. */
  #inOrder(addresses: readonly ServerAddress[]): KnownServer[] {
    const known = addresses.map((address) => this.#known(address));
    return [...known.filter(({ isSilent }) => !isSilent), ...known.filter(({ isSilent }) => isSilent)];
  }

  #known(address: ServerAddress): KnownServer {
    const key = serverName(address);
    let known = this.#servers.get(key);
    if (known === undefined) {
      known = new KnownServer(address, this.#now);
      this.#servers.set(key, known);
    }
    return known;
  }
}

/** Finds out whether a silent server would answer in time again; no question waits for it. */
function askInPassing(server: KnownServer, question: DnsQuestion): void {
  const ended = () => clearTimeout(deadline);
  const cancel = server.udp.send({
    question,
    withEdns: server.takesEdns,
    answered: (message) => {
      ended();
      if (isTelling(message)) server.heard();
    },
    failed: ended,
    garbage: () => {},
  });
  const deadline = setTimeout(cancel, FIRST_WAIT_MS).unref();
}

/** One question on its way through the servers. */
class Asking {
  readonly #question: DnsQuestion;
  readonly #policy: AskPolicy;
  readonly #now: () => number;
  readonly #settle: (reply: DnsReply) => void;
  /** Servers that have not yet said that they cannot help, the next to be asked first. */
  readonly #hopeful: KnownServer[];
  /** When each server was first asked that has not been heard of since. */
  readonly #unheard = new Map<KnownServer, number>();
  readonly #triesAt = new Map<KnownServer, number>();
  /** Servers whose truncated answer is asked for over TCP. */
  readonly #overTcp = new Set<KnownServer>();
  readonly #reasons: string[] = [];
  readonly #cancels: Cancel[] = [];
  readonly #deadline: NodeJS.Timeout | undefined;
  #newest: KnownServer | undefined;
  #wait: NodeJS.Timeout | undefined;
  #tries = 0;
  #ignored = 0;
  #isLocal = false;
  #isDone = false;

  constructor(
    question: DnsQuestion,
    policy: AskPolicy,
    servers: KnownServer[],
    now: () => number,
    settle: (reply: DnsReply) => void,
  ) {
    this.#question = question;
    this.#policy = policy;
    this.#now = now;
    this.#settle = settle;
    this.#hopeful = servers;
    if (Number.isFinite(policy.timeoutMs)) {
      this.#deadline = setTimeout(() => this.#givenUp(), policy.timeoutMs);
    }
  }

  readonly cancel = (): void => {
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
    const waitMs = this.#policy.waitMs(this.#tries++);
    this.#wait = setTimeout(this.next, waitMs);
    this.#try(server);
  };

  /** Every other try goes without EDNS: some servers, and firewalls before them, drop what has it. */
  #try(server: KnownServer): void {
    const earlier = this.#triesAt.get(server) ?? 0;
    this.#triesAt.set(server, earlier + 1);
    if (earlier === 0) this.#unheard.set(server, this.#now());
    this.#newest = server;
    this.#send(server, earlier % 2 === 0 ? server.takesEdns : !server.takesEdns);
  }

  #send(server: KnownServer, withEdns: boolean): void {
    this.#cancels.push(
      server.udp.send({
        question: this.#question,
        withEdns,
        answered: (message) => this.#heard(server, message, withEdns),
        failed: (code) => this.#lost(server, code),
        garbage: this.#garbage,
      }),
    );
  }

  #heard(server: KnownServer, message: DnsMessage, withEdns: boolean): void {
    server.heard();
    this.#unheard.delete(server);
    if (isTelling(message)) {
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
    const { rcode } = message;
    if (isTelling(message)) {
      this.#finish({ kind: 'answer', message });
    } else if (withEdns && EDNS_REFUSALS.has(rcode)) {
      this.#send(server, false);
    } else {
      this.#discard(server, `${RCODE_NAMES[rcode] ?? `RCODE ${rcode}`} from ${serverName(server.address)}`);
    }
  }

  #lost(server: KnownServer, code: string, how = ''): void {
    if (this.#isDone) return;
    if (code === 'ECANCELLED') {
      this.#finish({ kind: 'unable', why: 'the agent is stopping' });
      return;
    }
    if (isLocalFailure(code, isIP(server.address.host) === 6 ? 6 : 4)) this.#isLocal = true;
    const what = code === 'EBADRESP' ? 'malformed answer' : code;
    this.#discard(server, `${what} from ${serverName(server.address)}${how === '' ? '' : ` ${how}`}`);
  }

  /** Asks the next server at once; this one has nothing more to say. */
  #discard(server: KnownServer, reason: string): void {
    const index = this.#hopeful.indexOf(server);
    if (index < 0) return;
    this.#hopeful.splice(index, 1);
    this.#reasons.push(reason);
    if (this.#hopeful.length === 0) this.#givenUp();
    else this.next();
  }

  readonly #garbage = (): void => {
    this.#ignored++;
  };

  #givenUp(): void {
    if (this.#hopeful.length === 0) {
      this.#finish({ kind: this.#isLocal ? 'unable' : 'failed', why: this.#reasons.join(', ') });
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
    this.#finish({ kind: 'silent', why: [...none, ...malformed, ...this.#reasons].join(', ') });
  }

  #finish(reply: DnsReply): void {
    if (this.#isDone) return;
    this.cancel();
    if (reply.kind === 'answer') this.#blameUnheard();
    this.#settle(reply);
  }

  /** Those that kept this question waiting. Whoever was asked last, and only once, has not had its time yet. */
  #blameUnheard(): void {
    for (const [server, sentAt] of this.#unheard) {
      const hadItsTime = server !== this.#newest || (this.#triesAt.get(server) ?? 0) > 1;
      if (hadItsTime) server.leftUnanswered(sentAt);
    }
  }
}

/** RCODE 0 or 3: the server knows the name, or that there is none. */
function isTelling({ rcode }: DnsMessage): boolean {
  return rcode === RCODE.ok || rcode === RCODE.noSuchName;
}

/**
 * What servers from before EDNS answer to it (RFC 6891 section 6.2.2, RFC 8906 section 8.1). Most that say SERVFAIL
 * mean something else; asking once more tells.
 */
const EDNS_REFUSALS = new Set([RCODE.formatError, RCODE.serverFailure, RCODE.notImplemented]);

const RCODE_NAMES: Record<number, string> = {
  [RCODE.formatError]: 'FORMERR',
  [RCODE.serverFailure]: 'SERVFAIL',
  [RCODE.notImplemented]: 'NOTIMP',
  [RCODE.refused]: 'REFUSED',
};
