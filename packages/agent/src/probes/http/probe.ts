import type { SecureContext } from 'node:tls';
import type { EgressGuard } from '@svc/shared/egress.ts';
import type { HttpCheck } from '@svc/shared/messages/check.ts';
import type { ProxyFor } from '@svc/shared/proxy/proxy.ts';
import { trustedContext } from '@svc/shared/trusted-authorities.ts';
import { VERSION } from '@svc/shared/version.ts';
import type { Resolver } from '../../resolve/resolver.ts';
import type { Probe, ProbeOutcome } from '../probe.ts';
import { type AttemptParts, HttpAttempt } from './attempt.ts';
import { HEAVY_DECODERS } from './decoded-body.ts';
import { KeptBodies } from './kept-bodies.ts';
import { Semaphore } from './semaphore.ts';
import type { TlsOptions } from './tls.ts';

export type HttpProbeOptions = {
  resolver: Resolver;
  egress: EgressGuard;
  /** Default: 64 MiB for all attempts of this probe together. */
  keptBodies?: KeptBodies;
  /** What monitors send unless they configure their own; default `svc/<version>`. */
  userAgent?: string;
  tlsOptions?: TlsOptions;
  /** Undefined: every connection goes directly. */
  proxyFor?: ProxyFor | undefined;
};

/** The probe of HTTP monitors, over our own HTTP/1.1 client (decision 0020). */
export function createHttpProbe(options: HttpProbeOptions): Probe<HttpCheck> {
  const { ca = [] } = options.tlsOptions ?? {};
  // Later it would hold up checks; without further authorities it is made when it is needed, if ever.
  let context: SecureContext | undefined = ca.length === 0 ? undefined : trustedContext(ca);
  const parts: AttemptParts = {
    resolver: options.resolver,
    egress: options.egress,
    keptBodies: options.keptBodies ?? new KeptBodies(),
    heavyDecoders: new Semaphore(HEAVY_DECODERS),
    userAgent: options.userAgent ?? `svc/${VERSION}`,
    proxyFor: options.proxyFor,
    secureContext: () => {
      context ??= trustedContext();
      return context;
    },
  };
  return {
    run: (check, probeContext) =>
      new Promise<ProbeOutcome>((resolve) => new HttpAttempt(check, probeContext, parts, resolve).start()),
    async close() {},
  };
}
