import { isIP } from 'node:net';
import type { SecureContext } from 'node:tls';
import { evaluateResponse, judgeResponse } from '@svc/shared/assertions/evaluate.ts';
import { EgressDeniedError, type EgressGuard } from '@svc/shared/egress.ts';
import { messageOf } from '@svc/shared/errors.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import type { HttpCheck } from '@svc/shared/messages/check.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { HttpProxy, ProxyFor } from '@svc/shared/proxy/proxy.ts';
import { onAbort } from '@svc/shared/waiting.ts';
import { type Bounded, Deadline } from '../../deadline.ts';
import { noIpv6For } from '../../network/local-route.ts';
import { type ResolvedAddress, ResolveError, type Resolver } from '../../resolve/resolver.ts';
import type { ProbeContext, ProbeOutcome } from '../probe.ts';
import { type BodyEnd, type BodyListener, type BodySink, CountedBody, KeptBody } from './body.ts';
import { type DecodedText, decodeBody, fieldText } from './charset.ts';
import { type Cookies, openCookies } from './cookies.ts';
import { DecodedBody, parseCodings } from './decoded-body.ts';
import { Exchange, type ExchangeFailure, type ExchangeListener } from './exchange.ts';
import { firstHop, type Hop, hostOf, isRedirect, portOf, redirectedHop } from './hop.ts';
import { type KeptBodies, NoRoomError } from './kept-bodies.ts';
import { renderRequest } from './request.ts';
import type { ResponseHead } from './response-head.ts';
import type { Semaphore } from './semaphore.ts';
import { type Phase, Stopwatch } from './stopwatch.ts';

export type AttemptParts = {
  resolver: Resolver;
  egress: EgressGuard;
  keptBodies: KeptBodies;
  heavyDecoders: Semaphore;
  userAgent: string;
  secureContext: () => SecureContext;
  proxyFor: ProxyFor | undefined;
};

/**
 * One attempt of the HTTP probe. For each hop, it resolves the name, asks the egress
 * guard, sends the request and reads the response. It then judges the last response.
 *
 * `#settleAttempt` ends the attempt exactly once, whatever happens first: a verdict,
 * a failure, the time-out or an abort. It releases everything that the attempt holds.
 */
export class HttpAttempt implements ExchangeListener, BodyListener, Bounded {
  readonly #check: HttpCheck;
  readonly #context: ProbeContext;
  readonly #parts: AttemptParts;
  readonly #resolve: (outcome: ProbeOutcome) => void;
  readonly #deadlineAt: number;
  readonly #deadline: Deadline;
  #unregister: (() => void) | undefined;
  readonly #stopwatch = new Stopwatch();
  #hop: Hop | undefined;
  #redirects = 0;
  /** Cookies that redirects of this attempt have set. */
  #cookies: Cookies | undefined;
  #lookup: AbortController | undefined;
  /** Start of the last look-up (`performance.now()`). */
  #lookupStartedAt = 0;
  #exchange: Exchange | undefined;
  #head: ResponseHead | undefined;
  /** Latency and phases at the instant when the last needed byte had come. */
  #measured: ReturnType<Stopwatch['read']> | undefined;
  #body: BodySink | undefined;
  #certificateExpiresAt: number | undefined;
  #isSettled = false;

  constructor(
    check: HttpCheck,
    context: ProbeContext,
    parts: AttemptParts,
    resolve: (outcome: ProbeOutcome) => void,
  ) {
    this.#check = check;
    this.#context = context;
    this.#parts = parts;
    this.#resolve = resolve;
    this.#deadlineAt = performance.now() + context.timeoutMs;
    this.#deadline = new Deadline(this, context.timeoutMs);
  }

  start(): void {
    this.#unregister = onAbort(this.#context.signal, this.#aborted);
    if (this.#isSettled) return;
    const hop = firstHop(this.#check);
    if (typeof hop === 'string') this.#fail(hop);
    else this.#startHop(hop);
  }

  #startHop(hop: Hop): void {
    this.#hop = hop;
    this.#head = undefined;
    this.#exchange = undefined;
    try {
      const host = hostOf(hop.url);
      const family = isIP(host);
      const proxy = this.#parts.proxyFor?.(host, portOf(hop.url));
      if (proxy !== undefined) {
        this.#openBy(proxy, host);
        return;
      }
      if (family !== 0) {
        this.#openTo([{ address: host, family: family === 4 ? 4 : 6 }]);
        return;
      }
      this.#lookup = new AbortController();
      this.#lookupStartedAt = performance.now();
      const found = this.#parts.resolver.resolve(host, this.#lookup.signal);
      if (Array.isArray(found)) {
        this.#openTo(found);
        return;
      }
      this.#stopwatch.enter('dns');
      found.then(this.#resolved, this.#lookupFailed);
    } catch (error) {
      this.#lookupFailed(error);
    }
  }

  readonly #resolved = (addresses: readonly ResolvedAddress[]): void => {
    if (this.#isSettled) return;
    try {
      this.#openTo(addresses);
    } catch (error) {
      this.#defect(error);
    }
  };

  readonly #lookupFailed = (error: unknown): void => {
    if (this.#isSettled) return;
    if (!(error instanceof ResolveError)) this.#defect(error);
    else if (error.code === 'ECANCELLED') this.#aborted();
    else if (error.code === 'EUNREACHABLE') this.#notRun('network-down', error.message);
    else this.#fail(error.message, error.code === 'ETIMEOUT', error.code === 'ESERVFAIL');
  };

  /**
   * Connects through the proxy. If the host is a name, the proxy resolves it and decides
   * whether the target is allowed. If the host is an address, the agent's egress rules decide.
   */
  #openBy(proxy: HttpProxy, host: string): void {
    const verdict = isIP(host) === 0 ? undefined : this.#parts.egress.verdict(host);
    if (verdict?.allowed === false) this.#denied(new EgressDeniedError(host, verdict.rule).message);
    else this.#exchangeWith([], proxy);
  }

  #openTo(addresses: readonly ResolvedAddress[]): void {
    this.#lookup = undefined;
    let denied: EgressDeniedError | undefined;
    const allowed = addresses.filter(({ address }) => {
      const verdict = this.#parts.egress.verdict(address);
      if (!verdict.allowed) denied ??= new EgressDeniedError(address, verdict.rule);
      return verdict.allowed;
    });
    if (allowed.length === 0) {
      this.#denied(denied?.message ?? 'the host has no address');
      return;
    }
    const noIpv6 = noIpv6For(allowed);
    if (noIpv6 === null) this.#exchangeWith(allowed);
    else this.#notRun(noIpv6.reason, noIpv6.message);
  }

  #exchangeWith(addresses: readonly ResolvedAddress[], proxy?: HttpProxy): void {
    const hop = this.#hop;
    if (hop === undefined) throw new TypeError('no hop to open');
    const request = renderRequest(hop, this.#parts.userAgent);
    if ('problem' in request) {
      this.#fail(request.problem);
      return;
    }
    this.#stopwatch.enter('connect');
    const { egress, secureContext, resolver, keptBodies } = this.#parts;
    const remainingMs = Math.max(1, Math.floor(this.#deadlineAt - performance.now()));
    const { signal } = this.#context;
    const by = proxy === undefined ? undefined : { proxy, resolver };
    this.#exchange = new Exchange(
      {
        hop,
        request: request.text,
        addresses,
        egress,
        secureContext,
        keptBodies,
        remainingMs,
        signal,
        by,
      },
      this,
    );
    this.#exchange.start();
  }

  onPhase(phase: Phase): void {
    this.#stopwatch.enter(phase);
  }

  /** Records when a certificate expires. When several hops use TLS, the earliest expiry counts. */
  onCertificate(expiresAt: number): void {
    this.#certificateExpiresAt = Math.min(expiresAt, this.#certificateExpiresAt ?? expiresAt);
  }

  onHead(head: ResponseHead): void {
    this.#head = head;
    if (this.#check.follow_redirects && isRedirect(head.statusCode)) {
      const location = head.headers.get('location') ?? '';
      // A redirect without a `Location` is judged like any other answer.
      if (location !== '') {
        this.#redirect(head, location);
        return;
      }
    }
    if (this.#check.body_assertions.length === 0) {
      this.#body = new CountedBody(this);
      return;
    }
    const { keptBodies, heavyDecoders } = this.#parts;
    const codings = parseCodings(head.headers.get('content-encoding'));
    this.#body =
      codings.length === 0
        ? new KeptBody(this, keptBodies)
        : new DecodedBody(codings, this, keptBodies, heavyDecoders);
  }

  #redirect(head: ResponseHead, location: string): void {
    const hop = this.#hop;
    if (hop === undefined) throw new TypeError('redirected without a hop');
    this.#exchange?.close();
    this.#redirects += 1;
    if (this.#redirects > LIMITS.redirects) {
      this.#fail(`more than ${LIMITS.redirects} redirects`);
      return;
    }
    if (head.hasSeveralLocations) {
      this.#fail('redirected by several Location headers that differ');
      return;
    }
    const next = redirectedHop(hop, head.statusCode, location);
    if (typeof next === 'string') {
      this.#fail(next);
      return;
    }
    if (head.setCookies === undefined && this.#cookies === undefined) this.#startHop(next);
    else this.#startHopWithCookies(hop, head, next).catch((error) => this.#defect(error));
  }

  async #startHopWithCookies({ url }: Hop, { setCookies }: ResponseHead, next: Hop): Promise<void> {
    this.#cookies ??= await openCookies();
    if (this.#isSettled) return;
    this.#cookies.store(url, setCookies);
    this.#startHop({ ...next, cookies: this.#cookies.for(next.url) });
  }

  onBody(bytes: Buffer, start: number, end: number): void {
    this.#body?.write(bytes, start, end);
  }

  onBodyFull(): void {
    this.#measured = this.#stopwatch.read();
    this.#exchange?.close();
  }

  onComplete(): void {
    // Decoding and judging come after the last byte, so they do not count as latency. Decoding may take a
    // while. Events of the connection during this time do not matter; many servers reset the connection.
    this.#measured = this.#stopwatch.read();
    this.#exchange?.hangUp();
    this.#body?.end();
  }

  onBodyEnd(end: BodyEnd): void {
    switch (end.kind) {
      case 'complete':
        this.#judge(false);
        return;
      case 'truncated':
        this.#judge(true);
        return;
      case 'no-room':
        this.#notRun('overloaded', new NoRoomError().message);
        return;
      case 'undecodable':
        this.#fail(end.message);
        return;
      default:
        throw new TypeError(`unknown end of body ${String(end satisfies never)}`);
    }
  }

  #judge(isTruncated: boolean): void {
    const head = this.#head;
    if (head === undefined || this.#isSettled) return;
    this.#measured ??= this.#stopwatch.read();
    if (this.#check.body_assertions.length === 0 || this.#body === undefined) {
      this.#judgeText(head, { text: '' }, isTruncated);
      return;
    }
    decodeBody(this.#body.bytes(), head.headers.get('content-type')).then(
      (decoded) => this.#judgeText(head, decoded, isTruncated),
      (error) => this.#defect(error),
    );
  }

  #judgeText(head: ResponseHead, { text, unknown }: DecodedText, isTruncated: boolean): void {
    if (this.#isSettled) return;
    const measured = this.#measured;
    const headers = readableHeaders(head, this.#check.header_assertions);
    const response = { statusCode: head.statusCode, headers, body: text };
    const message = evaluateResponse(this.#check, response);
    let said = message;
    if (said !== undefined && head.statusCode === 101) said = `${said}: ${SWITCHED}`;
    if (said !== undefined && unknown !== undefined) said = withNote(said, readAsUtf8(unknown));
    const outcome = this.#outcome(said === undefined ? 'passed' : 'failed', said, measured);
    if (isTruncated) outcome.bodyTruncated = true;
    if (this.#context.judgesEach === true) outcome.assertions = judgeResponse(this.#check, response);
    this.#settleAttempt(outcome);
  }

  onFailure(failure: ExchangeFailure): void {
    switch (failure.kind) {
      case 'failed':
        this.#fail(failure.message, failure.timedOut, failure.notConnected);
        return;
      case 'unable':
        this.#notRun(failure.reason, failure.message);
        return;
      case 'no-proxy':
        this.#notRun('network-down', failure.message);
        return;
      case 'denied':
        this.#denied(failure.message);
        return;
      case 'aborted':
        this.#aborted();
        return;
      case 'defect':
        this.#defect(failure.error);
        return;
      default:
        throw new TypeError(`unknown failure ${String(failure satisfies never)}`);
    }
  }

  onDeadline(): void {
    const after = this.#redirects === 0 ? '' : ` after ${this.#redirects} redirects`;
    const phase = this.#stopwatch.phase ?? 'connect';
    const message = `timed out after ${this.#context.timeoutMs} ms ${WAITED_FOR[phase]}${after}`;
    if (phase === 'dns' && this.#parts.resolver.isSilentSince(this.#lookupStartedAt)) {
      this.#notRun('network-down', `${message}: no name server answers for any name`);
      return;
    }
    const outcome = this.#outcome('failed', message);
    outcome.timedOut = true;
    if (this.#exchange !== undefined) {
      outcome.addresses = this.#exchange.dialled;
      outcome.proxyAddresses = this.#exchange.proxyDialled;
    }
    if (this.#measured !== undefined) outcome.hasWholeAnswer = true;
    this.#settleAttempt(outcome);
  }

  readonly #aborted = (): void => {
    this.#notRun('shutting-down');
  };

  #defect(error: unknown): void {
    this.#notRun('internal-error', messageOf(error));
  }

  /**
   * Ends the attempt because the egress rules deny the host. If it is the declared host, the denial
   * is not a failure of the target. After a redirect it is, because the target chose the host.
   */
  #denied(message: string): void {
    if (this.#redirects === 0) this.#notRun('egress-denied', message);
    else this.#fail(`redirected to a forbidden address: ${message}`);
  }

  #notRun(reason: NotRunReason, message?: string): void {
    const outcome = this.#outcome('not_run', message);
    outcome.reason = reason;
    this.#settleAttempt(outcome);
  }

  #fail(message: string, timedOut = false, notConnected = false): void {
    const outcome = this.#outcome('failed', message);
    if (timedOut) outcome.timedOut = true;
    if (notConnected) outcome.notConnected = true;
    this.#settleAttempt(outcome);
  }

  #outcome(
    kind: ProbeOutcome['outcome'],
    message: string | undefined,
    measured = this.#stopwatch.read(),
  ): ProbeOutcome {
    const outcome: ProbeOutcome = { outcome: kind, ...measured };
    if (this.#exchange !== undefined) outcome.addresses = this.#exchange.addresses;
    if (this.#head !== undefined) outcome.statusCode = this.#head.statusCode;
    if (message !== undefined) outcome.errorMessage = message.slice(0, LIMITS.errorMessage);
    if (this.#certificateExpiresAt !== undefined) outcome.certificateExpiresAt = this.#certificateExpiresAt;
    return outcome;
  }

  #settleAttempt(outcome: ProbeOutcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#deadline.end();
    this.#unregister?.();
    this.#lookup?.abort();
    this.#exchange?.close();
    this.#body?.release();
    this.#resolve(outcome);
  }
}

/** The headers that the assertions name, decoded to text. Without assertions, all headers as they came. */
function readableHeaders(
  { headers }: ResponseHead,
  asserted: HttpCheck['header_assertions'],
): ReadonlyMap<string, string> {
  if (asserted.length === 0) return headers;
  const readable = new Map<string, string>();
  for (const { key } of asserted) {
    const name = key.toLowerCase();
    const value = headers.get(name);
    if (value !== undefined) readable.set(name, fieldText(value));
  }
  return readable;
}

function readAsUtf8(charset: string): string {
  return `; the charset "${charset.slice(0, 40)}" is not known, so the body was read as UTF-8`;
}

/** Appends a note to a message. If both together are too long, the message is shortened, not the note. */
function withNote(message: string, note: string): string {
  return `${message.slice(0, LIMITS.errorMessage - note.length)}${note}`;
}

const SWITCHED = 'the target switched to another protocol, which the request did not ask for';

const WAITED_FOR = {
  dns: 'while resolving the name',
  connect: 'while connecting',
  tls: 'during the TLS handshake',
  first_byte: 'while waiting for the first byte',
  transfer: 'while reading the response',
} as const satisfies Record<Phase, string>;
