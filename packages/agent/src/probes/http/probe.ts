import type { SecureContext } from 'node:tls';
import type { EgressGuard } from '@svc/shared/egress.ts';
import type { HttpCheck } from '@svc/shared/messages/check.ts';
import type { ProxyFor } from '@svc/shared/proxy/proxy.ts';
import { trustedContext } from '@svc/shared/server-trust.ts';
import { VERSION } from '@svc/shared/version.ts';
import type { Resolver } from '../../resolve/resolver.ts';
import type { Probe, ProbeOutcome } from '../probe.ts';
import type { TlsOptions } from '../tls.ts';
import { type AttemptParts, HttpAttempt } from './attempt.ts';
import { HEAVY_DECODERS } from './decoded-body.ts';
import { KeptBodies } from './kept-bodies.ts';
import { Semaphore } from './semaphore.ts';

export type HttpProbeParts = {
  resolver: Resolver;
  egress: EgressGuard;
  /** Memory for kept bodies. Default: 64 MiB for all attempts of this probe together. */
  keptBodies?: KeptBodies;
  /** `User-Agent` of monitors that do not configure it. Default: `svc/<version>`. */
  userAgent?: string;
  tlsOptions?: TlsOptions;
  /** Returns the proxy for a connection. Undefined: every connection is direct. */
  proxyFor?: ProxyFor | undefined;
};

/**
 * Creates the probe of HTTP monitors. It uses svc's own HTTP/1.1 client, and
 * Node's HTTP/2 client for targets that know only HTTP/2 (decision 0020).
 */
export function createHttpProbe(parts: HttpProbeParts): Probe<HttpCheck> {
  const { ca = [], groups } = parts.tlsOptions ?? {};
  // If there are further authorities, the context is created now, because loading
  // them later would delay checks. Otherwise it is created when a check needs it.
  let context: SecureContext | undefined =
    ca.length === 0 ? undefined : trustedContext(ca, undefined, groups);
  const attemptParts: AttemptParts = {
    resolver: parts.resolver,
    egress: parts.egress,
    keptBodies: parts.keptBodies ?? new KeptBodies(),
    heavyDecoders: new Semaphore(HEAVY_DECODERS),
    userAgent: parts.userAgent ?? `svc/${VERSION}`,
    proxyFor: parts.proxyFor,
    secureContext: () => {
      context ??= trustedContext([], undefined, groups);
      return context;
    },
  };
  return {
    run: (check, probeContext) =>
      new Promise<ProbeOutcome>((resolve) =>
        new HttpAttempt(check, probeContext, attemptParts, resolve).start(),
      ),
    async close() {},
  };
}
