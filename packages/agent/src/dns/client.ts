import { KnownServer } from './known-server.ts';
import { type AskPolicy, type DnsReply, knowsName, OpenQuestion } from './open-question.ts';
import type { DnsQuestion } from './packet.ts';
import type { Cancel } from './query.ts';
import { type ServerAddress, serverName } from './servers.ts';
import { Silence } from './silence.ts';

/**
 * Returns the waits between tries: half a second, then twice as long each time, at most
 * `longestMs`. Datagrams are lost when hundreds of checks start together. A look-up
 * that waited for 5 s, the default of resolv.conf, would make the target look slow.
 */
export function doublingWaits(longestMs: number): AskPolicy['waitMs'] {
  return (n) => Math.min(longestMs, FIRST_WAIT_MS * 2 ** n);
}

const FIRST_WAIT_MS = 500;

/** Time limit of a question that only tests whether the servers answer, ms. */
const OTHER_NAME_MS = 10_000;

/**
 * Asks DNS servers from the event loop, without the thread pool. UDP queries share a bounded number of
 * sockets for each server. A client remembers which servers answer (decision 0030), so all look-ups of
 * a resolver share one client, and all DNS checks share another.
 */
export class DnsClient {
  readonly #servers = new Map<string, KnownServer>();
  readonly #silence = new Silence();
  readonly #now: () => number;
  readonly #closing = new AbortController();

  /** @param now a monotonic clock, ms */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Asks the servers until there is a reply. `settle` is called once, after `askServers`
   * has returned, unless the returned function cancels the question before.
   *
   * @param question a question with a canonical name, as `canonicalName` returns it
   */
  askServers(question: DnsQuestion, policy: AskPolicy, settle: (reply: DnsReply) => void): Cancel {
    if (this.#closing.signal.aborted) {
      process.nextTick(settle, { kind: 'unable', why: 'the agent is stopping' } satisfies DnsReply);
      return () => {};
    }
    const servers = this.#inOrder(policy.servers);
    for (const server of servers) if (server.takeRetrial()) this.#askInPassing(server, question);
    const shared = { silence: this.#silence, now: this.#now, closing: this.#closing.signal };
    const open = new OpenQuestion(question, policy, servers, shared, settle);
    open.start((name) => this.#askForOther(name, policy));
    return open.cancel;
  }

  /**
   * Whether the name servers answer no question at all, according to {@link Silence.isTotal}.
   * It is for callers that give up a question before its policy ends.
   *
   * @param since start of that question, monotonic ms
   */
  isSilentSince(since: number): boolean {
    return this.#silence.isTotal(since, this.#now());
  }

  /** Settles all open questions as `unable`, and closes the sockets. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#servers.values()].map(({ udp }) => udp.close()));
  }

  /** Asks for a name only to test whether the servers answer. The answer is not used. */
  #askForOther(name: string, { servers, waitMs, timeoutMs }: AskPolicy): void {
    const policy = { servers, waitMs, tries: 4, timeoutMs: Math.min(timeoutMs, OTHER_NAME_MS) };
    this.askServers({ name, type: 'A' }, policy, () => {});
  }

  /** Tests whether a silent server answers within half a second again. No caller waits for this test. */
  #askInPassing(server: KnownServer, question: DnsQuestion): void {
    const ended = () => clearTimeout(deadline);
    const cancel = server.udp.send({
      question,
      withEdns: server.takesEdns,
      answered: (message) => {
        ended();
        this.#silence.recordReply(question.name, this.#now());
        if (knowsName(message)) server.recordReply();
      },
      failed: ended,
      garbage: () => {},
    });
    const deadline = setTimeout(cancel, FIRST_WAIT_MS).unref();
  }

  /** The servers in the listed order, except that the silent servers come last. */
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
