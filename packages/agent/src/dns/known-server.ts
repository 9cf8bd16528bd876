import type { ServerAddress } from './servers.ts';
import { UdpServer } from './udp-server.ts';

/** How long a server is asked without EDNS before EDNS is tried again, ms. */
const PLAIN_MS = 600_000;
/** Interval at which a silent server is tested in passing, ms. */
const RETRIAL_MS = 30_000;

/**
 * What a client remembers of one server between questions: whether it answers at all, and whether it answers
 * queries with EDNS.
 *
 * Without this memory, a dead first server would cost every check half a second, and so would an old server
 * that drops queries with EDNS. Times are ms on `now`'s clock.
 */
export class KnownServer {
  readonly address: ServerAddress;
  readonly udp: UdpServer;
  readonly #now: () => number;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #answeredEdnsAt = Number.NEGATIVE_INFINITY;
  #plainUntil = Number.NEGATIVE_INFINITY;
  /** Infinity while the server answers. */
  #retrialAt = Number.POSITIVE_INFINITY;

  /** @param now a monotonic clock, ms */
  constructor(address: ServerAddress, now: () => number) {
    this.address = address;
    this.udp = new UdpServer(address);
    this.#now = now;
  }

  /** Whether it left a question unanswered that another server answered, and has not been heard since. */
  get isSilent(): boolean {
    return this.#retrialAt !== Number.POSITIVE_INFINITY;
  }

  /** Whether a silent server is due to be tested; true once per interval. */
  takeRetrial(): boolean {
    if (this.#now() < this.#retrialAt) return false;
    this.#retrialAt = this.#now() + RETRIAL_MS;
    return true;
  }

  /** Whether the first query to this server has EDNS. */
  get takesEdns(): boolean {
    return this.#now() >= this.#plainUntil;
  }

  /** Notes that any message came from the server. */
  heard(): void {
    this.#answeredAt = this.#now();
    this.#retrialAt = Number.POSITIVE_INFINITY;
  }

  /** Notes that it answered a query with EDNS. */
  answeredEdns(): void {
    this.#answeredEdnsAt = this.#now();
    this.#plainUntil = Number.NEGATIVE_INFINITY;
  }

  /**
   * Notes that it answered a query without EDNS after it left one with EDNS unanswered or answered it with
   * SERVFAIL. It counts only for a server that does not answer other queries with EDNS: a datagram is lost
   * now and then, and a slow look-up may succeed at its second try.
   */
  answeredPlainOnly(): void {
    if (this.#now() - this.#answeredEdnsAt > PLAIN_MS) this.#plainUntil = this.#now() + PLAIN_MS;
  }

  /**
   * Notes that another server has answered a question first.
   *
   * @param sentAt when this server was asked that question
   */
  leftUnanswered(sentAt: number): void {
    if (this.#answeredAt < sentAt && !this.isSilent) this.#retrialAt = this.#now() + RETRIAL_MS;
  }
}
