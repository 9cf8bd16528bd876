import { createSecureContext } from 'node:tls';
import { NATS_SETTINGS } from '@svc/shared/nats/nats-settings.ts';
import { AGENT_OTLP_SETTINGS } from '@svc/shared/own-metrics/own-metrics-settings.ts';
import { NO_PROXY_SETTINGS, proxyUrl } from '@svc/shared/proxy/proxy.ts';
import { isRegionId, REGIONS } from '@svc/shared/regions.ts';
import { PROCESS_SETTINGS, TRUST_SETTINGS } from '@svc/shared/settings/common-settings.ts';
import type { SettingsOf, SettingsTable } from '@svc/shared/settings/environment.ts';
import {
  bearerToken,
  cidrList,
  commaList,
  listenAddress,
  orProblem,
  wholeNumber,
} from '@svc/shared/settings/setting-schemas.ts';
import { z } from 'zod';
import { parseServer } from './dns/servers.ts';
import { parseReferenceHost } from './network/reference-list.ts';

const dnsServers = commaList.transform((servers, context) =>
  orProblem(context, () => {
    if (servers.length === 0) throw new TypeError('names no server');
    for (const server of servers) parseServer(server);
    return servers;
  }),
);

const referenceHosts = commaList.transform((hosts, context) =>
  orProblem(context, () => {
    if (hosts.length === 0) throw new TypeError('names no host');
    for (const host of hosts) parseReferenceHost(host);
    return hosts;
  }),
);

const WRONG_REGION = `must be one of ${REGIONS.join(', ')}, or a region of your own: 3 to 32 lower-case letters, digits and hyphens, not beginning with hosta-, hostb- or hostc-`;

const tlsGroups = z
  .string()
  .refine(isListOfGroups, 'must be names of groups that OpenSSL knows, like X25519:P-256');

function isListOfGroups(ecdhCurve: string): boolean {
  try {
    return createSecureContext({ ecdhCurve }) !== null;
  } catch {
    return false;
  }
}

/** Every setting of the agent. */
export const AGENT_SETTINGS = {
  region: {
    name: 'SVC_REGION',
    description: 'region that this agent probes from',
    schema: z.string().refine(isRegionId, WRONG_REGION),
  },
  agentId: {
    name: 'SVC_AGENT_ID',
    description: 'name of this agent; every agent needs its own',
    defaultShown: 'generated',
    schema: z
      .string()
      .regex(/^[\w.-]{1,128}$/, 'must be 1 to 128 letters, digits, dots, dashes or underscores')
      .optional(),
  },
  ...NATS_SETTINGS,
  concurrency: {
    name: 'SVC_CONCURRENCY',
    description:
      'number of attempts that run at once; a check that waits for its next attempt does not count',
    default: '4000',
    schema: wholeNumber(1, 100_000),
  },
  listen: {
    name: 'SVC_AGENT_LISTEN',
    description: 'address that serves /healthz, /readyz and /metrics',
    defaultShown: 'none',
    schema: listenAddress.optional(),
  },
  metricsToken: {
    name: 'SVC_METRICS_TOKEN',
    description: 'bearer token that /metrics requires',
    schema: bearerToken.optional(),
  },
  dnsServers: {
    name: 'SVC_DNS_SERVERS',
    description: 'resolvers for DNS monitors: host[:port], separated by commas',
    defaultShown: "the system's",
    schema: dnsServers.optional(),
  },
  referenceHosts: {
    name: 'SVC_REFERENCE_HOSTS',
    description:
      'hosts that answer while the network works: host:port, separated by commas. When targets begin to fail and none of the hosts that answered within the last hour answers any more, checks are not_run. A target is compared only with hosts that answered by its address family, IPv4 or IPv6',
    defaultShown:
      'the default gateways (port 53), the name servers and the NATS server, unless they are on this machine',
    schema: referenceHosts.optional(),
  },
  ...TRUST_SETTINGS,
  probeTlsGroups: {
    name: 'SVC_PROBE_TLS_GROUPS',
    description:
      'groups of the TLS key exchange that HTTP probes offer: names of OpenSSL, separated by colons. A key share is sent of the first one, and of each with a * before its name',
    defaultShown: '*X25519MLKEM768:*X25519:P-256:X448:P-384:P-521',
    schema: tlsGroups.optional(),
  },
  probeProxy: {
    name: 'SVC_PROBE_PROXY',
    description:
      'HTTP proxy for HTTP probes: http://[user:password@]host:port. The proxy resolves the names of targets',
    schema: proxyUrl,
  },
  ...NO_PROXY_SETTINGS,
  egressDeny: {
    name: 'SVC_EGRESS_DENY',
    description: 'CIDRs that probes must not reach, in addition to link-local and cloud metadata addresses',
    default: '',
    schema: cidrList,
  },
  egressAllow: {
    name: 'SVC_EGRESS_ALLOW',
    description: 'CIDRs that probes may reach, even when another rule denies them',
    default: '',
    schema: cidrList,
  },
  ...AGENT_OTLP_SETTINGS,
  ...PROCESS_SETTINGS,
  drainMs: {
    name: 'SVC_DRAIN_MS',
    description: 'time for attempts in progress and for results at the end, ms',
    default: '10000',
    isInternal: true,
    schema: wholeNumber(0, 600_000),
  },
} as const satisfies SettingsTable;

export type AgentConfig = SettingsOf<typeof AGENT_SETTINGS>;
