import { connect, isIP, type OnReadOpts, type Socket } from 'node:net';
import { EgressDeniedError, type EgressGuard } from '@svc/shared/egress.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import { onAbort } from '@svc/shared/waiting.ts';
import { type Bounded, Deadline } from '../deadline.ts';
import { localFailureOf } from '../local-failure.ts';
import { type DialledAddress, noIpv6For, noLocalRoute } from '../network/local-route.ts';
import { type ResolvedAddress, ResolveError, type Resolver } from '../resolve/resolver.ts';
import { CONNECT_FAILURES } from './socket-failure.ts';

/** Time without an answer after which the next address is tried as well, ms (RFC 8305, section 5). */
const STAGGER_MS = 250;

/** Maximum number of addresses that are tried. A hostile zone may list thousands. */
const MAX_ADDRESSES = 16;

/** Maximum number of addresses that a message names. If there are more, the message says how many more. */
const MAX_NAMED = 4;

export type DialParts = {
  resolver: Resolver;
  egress: EgressGuard;
  /** Maximum duration of resolving and connecting together, ms, > 0, counted from the call. */
  timeoutMs: number;
  signal: AbortSignal;
  /** Holds the sockets that wait for a connection, while dialling lasts. */
  open?: Map<Socket, ResolvedAddress>;
  /** Options of every dialled socket. A socket that is dropped receives no data that matters. */
  socketOptions?: { onread: OnReadOpts };
};

/**
 * Duration of the look-up and of connecting, ms. `connectMs` is absent when no address
 * was dialled. `dnsMs` is absent when an address was dialled without a DNS query.
 */
export type DialTimes = { dnsMs?: number; connectMs?: number };

export type DialResult = DialTimes &
  (
    | { kind: 'connected'; socket: Socket; address: ResolvedAddress }
    /**
     * The target failed. `code` is the system's error code (such as `ECONNREFUSED`), a
     * code of {@link ResolveError}, or `ETIMEDOUT` when the time limit was reached.
     * `addresses` are the addresses that were dialled so far, absent when none was.
     */
    | {
        kind: 'failed';
        code: string;
        message: string;
        timedOut: boolean;
        addresses?: readonly DialledAddress[];
      }
    /** The egress rules deny every address of the host, so nothing was dialled. */
    | { kind: 'denied'; message: string }
    /**
     * This machine could not connect, for example because no socket is left, it has no route, a rule forbids
     * the connection, no name server answers, or svc has a defect. This says nothing about the target.
     */
    | { kind: 'unable'; message: string; reason: NotRunReason; addresses?: readonly ResolvedAddress[] }
    /** `signal` aborted, or the resolver was closed. */
    | { kind: 'aborted' }
  );

/**
 * Opens a TCP connection to `host:port` with "happy eyeballs" (RFC 8305). It tries one address
 * after the other. The next address is tried as soon as the previous attempt has failed, or
 * has had no answer for 250 ms. The first connection wins, and the other attempts are dropped.
 *
 * It never rejects. The caller owns the socket of a `connected` result. The socket has a listener
 * that ignores errors. A caller that must know of `error` or `close` adds its own listener.
 *
 * @param host name or IP literal, with or without brackets
 */
export function dial(host: string, port: number, parts: DialParts): Promise<DialResult> {
  return new Promise((settle) => new Dialling(host, port, parts, settle).start());
}

/** One call of {@link dial}. It resolves the name and connects. The first call of `#finish` ends it. */
class Dialling implements Bounded {
  readonly #host: string;
  readonly #port: number;
  readonly #parts: DialParts;
  readonly #settle: (result: DialResult) => void;
  readonly #startedAt = performance.now();
  readonly #open: Map<Socket, ResolvedAddress>;
  readonly #failures: Failure[] = [];
  #addresses: readonly ResolvedAddress[] = [];
  #next = 0;
  #dnsMs: number | undefined;
  #connectStartedAt: number | undefined;
  #deadline: Deadline | undefined;
  #stagger: NodeJS.Timeout | undefined;
  #lookup: AbortController | undefined;
  #unregister: (() => void) | undefined;
  #isDone = false;

  constructor(host: string, port: number, parts: DialParts, settle: (result: DialResult) => void) {
    this.#host = host;
    this.#port = port;
    this.#parts = parts;
    this.#open = parts.open ?? new Map();
    this.#settle = settle;
  }

  start(): void {
    this.#deadline = new Deadline(this, this.#parts.timeoutMs);
    this.#unregister = onAbort(this.#parts.signal, () => this.#finish({ kind: 'aborted' }));
    if (this.#isDone) return;
    try {
      if (isIP(this.#host) === 0) this.#lookup = new AbortController();
      const found = this.#parts.resolver.resolve(this.#host, this.#lookup?.signal);
      if (Array.isArray(found)) this.#connectTo(found);
      else found.then(this.#resolved).catch(this.#resolveFailed);
    } catch (error) {
      this.#resolveFailed(error);
    }
  }

  readonly #resolved = (addresses: readonly ResolvedAddress[]): void => {
    if (this.#isDone) return;
    this.#dnsMs = performance.now() - this.#startedAt;
    this.#connectTo(addresses);
  };

  readonly #resolveFailed = (error: unknown): void => {
    if (this.#isDone) return;
    this.#dnsMs = performance.now() - this.#startedAt;
    if (!(error instanceof ResolveError)) {
      const message = `resolving the name failed: ${messageOf(error)}`;
      this.#finish({ kind: 'unable', message, reason: 'internal-error' });
      return;
    }
    const { code, message } = error;
    if (code === 'ECANCELLED') this.#finish({ kind: 'aborted' });
    else if (code === 'EUNREACHABLE') this.#finish({ kind: 'unable', message, reason: 'network-down' });
    else this.#finish({ kind: 'failed', code, message, timedOut: code === 'ETIMEOUT' });
  };

  #connectTo(addresses: readonly ResolvedAddress[]): void {
    this.#lookup = undefined;
    let denied: EgressDeniedError | undefined;
    const allowed: ResolvedAddress[] = [];
    for (const candidate of addresses) {
      const verdict = this.#parts.egress.verdict(candidate.address);
      if (verdict.allowed) allowed.push(candidate);
      else denied ??= new EgressDeniedError(candidate.address, verdict.rule);
      if (allowed.length === MAX_ADDRESSES) break;
    }
    if (allowed.length === 0) {
      this.#finish({ kind: 'denied', message: denied?.message ?? `${this.#host} has no address` });
      return;
    }
    const noIpv6 = noIpv6For(allowed);
    if (noIpv6 !== null) {
      this.#finish({ kind: 'unable', ...noIpv6 });
      return;
    }
    this.#addresses = allowed;
    this.#connectStartedAt = performance.now();
    this.#dialNext();
  }

  #dialNext(): void {
    const address = this.#addresses[this.#next++];
    if (address === undefined) {
      if (this.#open.size === 0) this.#allFailed();
      return;
    }
    // This class does the work of Node's autoSelectFamily. With
    // autoSelectFamily off, `connect` takes a third less time.
    const socket = connect({
      ...this.#parts.socketOptions,
      host: address.address,
      port: this.#port,
      autoSelectFamily: false,
    });
    this.#open.set(socket, address);
    socket.once('connect', () => this.#connected(socket, address));
    socket.on('error', (error) => this.#failed(socket, address, error));
    if (this.#next < this.#addresses.length) {
      this.#stagger = setTimeout(() => this.#dialNext(), STAGGER_MS);
    }
  }

  #connected(socket: Socket, address: ResolvedAddress): void {
    if (!this.#open.delete(socket)) return;
    leave(socket);
    this.#finish({ kind: 'connected', socket, address });
  }

  #failed(socket: Socket, address: ResolvedAddress, error: NodeJS.ErrnoException): void {
    if (!this.#open.delete(socket)) return;
    leave(socket);
    this.#failures.push({ address, code: error.code ?? 'EUNKNOWN', text: error.message });
    clearTimeout(this.#stagger);
    this.#dialNext();
  }

  #allFailed(): void {
    const local = this.#failures.map(({ address, code }) => localFailureOf(code, address.family));
    const usedUp = this.#failures[local.indexOf('used-up')];
    if (usedUp !== undefined) {
      const message = `cannot open a socket: ${usedUp.text}`;
      this.#finish({ kind: 'unable', message, reason: 'network-down' });
      return;
    }
    if (local.every((each) => each === 'no-route')) void this.#askForRoute();
    else this.#refused();
  }

  async #askForRoute(): Promise<void> {
    const noRoute = await noLocalRoute(this.#failures);
    if (noRoute === null) this.#refused();
    else this.#finish({ kind: 'unable', ...noRoute, addresses: this.#dialled });
  }

  #refused(): void {
    const code = this.#failures[0]?.code ?? 'EUNKNOWN';
    const message = describe(this.#failures, this.#port);
    this.#finish({ kind: 'failed', code, message, timedOut: false, addresses: this.#dialled });
  }

  /** The addresses that were dialled so far. */
  get #dialled(): readonly DialledAddress[] {
    return withOwnAddresses(this.#addresses.slice(0, this.#next), this.#open);
  }

  onDeadline(): void {
    const { timeoutMs } = this.#parts;
    if (this.#connectStartedAt === undefined) {
      const message = `${this.#host} was not resolved within ${timeoutMs} ms`;
      if (this.#parts.resolver.isSilentSince(this.#startedAt)) {
        const silent = `${message}: no name server answers for any name`;
        this.#finish({ kind: 'unable', message: silent, reason: 'network-down' });
        return;
      }
      this.#finish({ kind: 'failed', code: 'ETIMEDOUT', message, timedOut: true });
      return;
    }
    const silent = [...this.#open.values()].map(({ address }) => endpoint(address, this.#port));
    const others = this.#failures.length === 0 ? '' : `; ${describe(this.#failures, this.#port)}`;
    const message = `no connection within ${timeoutMs} ms (ETIMEDOUT ${listed(silent)})${others}`;
    this.#finish({ kind: 'failed', code: 'ETIMEDOUT', message, timedOut: true, addresses: this.#dialled });
  }

  /**
   * Settles once and releases everything: timers, look-up, listeners, and the sockets of unfinished attempts.
   */
  #finish(result: WithoutTimes): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#deadline?.end();
    clearTimeout(this.#stagger);
    this.#unregister?.();
    this.#lookup?.abort();
    for (const socket of this.#open.keys()) {
      leave(socket);
      socket.destroy();
    }
    this.#open.clear();
    const times: DialTimes = {};
    const now = performance.now();
    if (this.#dnsMs !== undefined) times.dnsMs = this.#dnsMs;
    if (this.#connectStartedAt !== undefined) times.connectMs = now - this.#connectStartedAt;
    else if (this.#dnsMs === undefined) times.dnsMs = now - this.#startedAt;
    this.#settle({ ...times, ...result });
  }
}

/** The addresses, with this machine's own address on each connection that is open. */
export function withOwnAddresses(
  addresses: readonly DialledAddress[],
  open: ReadonlyMap<Socket, ResolvedAddress>,
): readonly DialledAddress[] {
  const from = new Map([...open].map(([socket, { address }]) => [address, socket.localAddress]));
  return addresses.map((each) => ({ ...each, from: from.get(each.address) }));
}

/**
 * Detaches the socket from the dial: its events are ignored, and it keeps no reference to
 * the dial (decision 0020). A listener that ignores errors is added, because an error of a
 * dropped or returned socket must not crash the process.
 */
function leave(socket: Socket): void {
  socket.removeAllListeners('connect');
  socket.removeAllListeners('error');
  socket.on('error', ignore);
}

function ignore(): void {}

type WithoutTimes = DialResult extends infer R
  ? R extends DialTimes
    ? Omit<R, keyof DialTimes>
    : never
  : never;

type Failure = { address: ResolvedAddress; code: string; text: string };

const PLAIN: Record<string, string> = {
  ...CONNECT_FAILURES,
  ECONNRESET: 'connection reset',
  EACCES: 'not permitted',
};

/** Describes failures, grouped by code: `connection refused (ECONNREFUSED 127.0.0.1:81)`. */
function describe(failures: readonly Failure[], port: number): string {
  const byCode = new Map<string, string[]>();
  for (const { address, code } of failures) {
    const places = byCode.get(code) ?? [];
    places.push(endpoint(address.address, port));
    byCode.set(code, places);
  }
  return [...byCode]
    .map(([code, places]) => `${PLAIN[code] ?? 'connecting failed'} (${code} ${listed(places)})`)
    .join('; ');
}

function listed(places: readonly string[]): string {
  const rest = places.length - MAX_NAMED;
  return places.slice(0, MAX_NAMED).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

function endpoint(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
