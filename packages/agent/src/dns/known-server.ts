import type { ServerAddress } from './servers.ts';
import { UdpServer } from './udp-server.ts';

/** How long a server is asked without EDNS before it is offered again, ms. */
const PLAIN_MS = 600_000;
/** How often a server that was silent is asked in passing whether it is back, ms. */
const RETRIAL_MS = 30_000;

/**
 * What a client remembers of one server from one question to the next: whether it answers at all, and
 * whether it answers queries with EDNS. Without it, a dead server in the first place would cost every
 * check half a second, and so would an old one that drops such queries. Times are ms on `now`'s clock.
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

  /** It left a question unanswered that another server answered, and has answered none since. */
  get isSilent(): boolean {
    return this.#retrialAt !== Number.POSITIVE_INFINITY;
  }

  /** Whether a silent server is due to be asked again; true once per interval. */
  takeRetrial(): boolean {
    if (this.#now() < this.#retrialAt) return false;
    this.#retrialAt = this.#now() + RETRIAL_MS;
    return true;
  }

  /** Whether queries go with EDNS at first. */
  get takesEdns(): boolean {
    return this.#now() >= this.#plainUntil;
  }

  /** Any message came from it. */
  heard(): void {
    this.#answeredAt = this.#now();
    this.#retrialAt = Number.POSITIVE_INFINITY;
  }

  /** It answered a query with EDNS. */
  answeredEdns(): void {
    this.#answeredEdnsAt = this.#now();
    this.#plainUntil = Number.NEGATIVE_INFINITY;
  }

  /**
   * It answered a query without EDNS after none, or SERVFAIL, to one with. Counts only for a server that does not answer
   * others with EDNS: a datagram is lost now and then, and a slow look-up may succeed at its second try.
   */
  answeredPlainOnly(): void {
    if (this.#now() - this.#answeredEdnsAt > PLAIN_MS) this.#plainUntil = this.#now() + PLAIN_MS;
  }

  /** @param sentAt when it was asked what another server has answered now */
  leftUnanswered(sentAt: number): void {
    if (this.#answeredAt < sentAt && !this.isSilent) this.#retrialAt = this.#now() + RETRIAL_MS;
  }
}
