import { createEgressGuard } from '@svc/shared/egress.ts';
import type { Check, CheckKind, CheckOf } from '@svc/shared/messages/check.ts';
import type { ProxyFor } from '@svc/shared/proxy/proxy.ts';
import type { SystemFilePaths } from '../resolve/system-files.ts';
import { createSystemResolver } from '../resolve/system-resolver.ts';
import { createDnsProbe } from './dns/probe.ts';
import { createHttpProbe } from './http/probe.ts';
import type { Probe, ProbeContext, ProbeOutcome } from './probe.ts';
import { createTcpProbe } from './tcp/probe.ts';

/** One probe for every kind of check. */
export type Probes = { readonly [K in CheckKind]: Probe<CheckOf<K>> };

/** The probes, and what they share. */
export type ProbeSet = {
  readonly probes: Probes;
  /** Closes the probes and their resolver. Call it when no attempt is in progress. */
  close(): Promise<void>;
};

export type ProbeSetOptions = {
  userAgent: string;
  /** Name servers for DNS monitors; undefined: the system's. */
  dnsServers: readonly string[] | undefined;
  /**
   * PEM certificates of the authorities that HTTP probes
   * trust, in addition to those that this process trusts.
   */
  probeCa: readonly string[] | undefined;
  /**
   * Groups of the TLS key exchange that HTTP probes offer,
   * in OpenSSL's notation; undefined: OpenSSL's default.
   */
  probeTlsGroups: string | undefined;
  /** Returns the proxy for a connection of an HTTP probe. Undefined: no proxy is used. */
  proxyFor: ProxyFor | undefined;
  egressDeny: readonly string[];
  egressAllow: readonly string[];
  /** Paths of the hosts file and resolv.conf. Default: those of the system. */
  systemFiles?: SystemFilePaths;
};

/**
 * Creates the probes of an agent.
 *
 * @throws TypeError when a name server or a CIDR is not valid
 */
export function createProbeSet(options: ProbeSetOptions): ProbeSet {
  const { userAgent, dnsServers, proxyFor, egressDeny, egressAllow, systemFiles } = options;
  const tlsOptions = { ca: options.probeCa ?? [], groups: options.probeTlsGroups };
  const egress = createEgressGuard({ base: 'agent', deny: egressDeny, allow: egressAllow });
  const resolver = createSystemResolver(systemFiles);
  const probes = {
    http: createHttpProbe({ resolver, egress, userAgent, proxyFor, tlsOptions }),
    tcp: createTcpProbe({ resolver, egress }),
    dns: createDnsProbe({ servers: dnsServers ?? 'system' }),
  } satisfies Probes;
  return {
    probes,
    async close() {
      await Promise.all(Object.values(probes).map((probe) => probe.close()));
      await resolver.close();
    },
  };
}

/** Runs one attempt with the probe of the check's kind. */
export function runProbe(probes: Probes, check: Check, context: ProbeContext): Promise<ProbeOutcome> {
  return runOf(probes, check.type, check, context);
}

function runOf<T extends CheckKind>(
  probes: Probes,
  type: T,
  check: CheckOf<T>,
  context: ProbeContext,
): Promise<ProbeOutcome> {
  return probes[type].run(check, context);
}
