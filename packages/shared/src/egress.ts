import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { addressBytes } from './address.ts';
import { SvcError } from './errors.ts';

/**
 * The guard of outgoing connections. Agents ask it about each address that they probe, and the coordinator
 * asks it about the addresses to which alerts, the exports of monitors and the icons of pages lead. A proxy
 * connects instead of the caller, so the guard is not asked about names that a proxy resolves. The guard
 * judges addresses, never names: ask it about the address that is really dialled, after resolving and after
 * every redirect.
 */
export interface EgressGuard {
  /** @param address an IP literal without brackets; anything else is denied. */
  verdict(address: string): EgressVerdict;
}

type EgressVerdict = { allowed: true } | { allowed: false; rule: string };

/** The guard denied every address that a connection could have used. */
export class EgressDeniedError extends SvcError {
  readonly address: string;

  constructor(address: string, rule: string) {
    super('EEGRESS', `connections to ${address} are denied by the operator's egress rules (${rule})`);
    this.address = address;
  }
}

type EgressOptions = {
  /**
   * The built-in rules, which are in force together with `deny`. `agent` denies link-local addresses and
   * cloud metadata; private networks are allowed, because people monitor their own. `channel` denies these
   * too, and every address that is not on the public internet.
   */
  base: 'agent' | 'channel';
  /** Further denied addresses: CIDRs or single addresses, in the form that {@link parseCidrList} returns. */
  deny: readonly string[];
  /** Allowed CIDRs and addresses. They override every rule that denies. */
  allow: readonly string[];
};

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Rule = { range: Address; prefix: number; text: string };

/**
 * Addresses where machines of the large providers find their own credentials. Source: the vendors' pages, as
 * of 2026-11-22. Link-local addresses are missing here, because another rule denies them: 169.254.169.254,
 * which most providers use, and fe80::a9fe:a9fe of OpenStack.
 */
const METADATA: readonly (readonly [address: string, source: string])[] = [
  // AWS: the metadata of instances, and the credentials of pods of EKS (their IPv4 address is link-local).
  ['fd00:ec2::254', 'https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html'],
  ['fd00:ec2::23', 'https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html'],
  // Google Cloud.
  ['fd20:ce::254', 'https://cloud.google.com/compute/docs/metadata/querying-metadata'],
  // Azure: the wire server beside the instance metadata service, which is link-local.
  ['168.63.129.16', 'https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16'],
  // Alibaba Cloud.
  ['100.100.100.200', 'https://www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata'],
  // Oracle Cloud: the classic service, and the present service over IPv6.
  [
    '192.0.0.192',
    'https://docs.oracle.com/en/cloud/iaas/compute-iaas-cloud/stcsg/retrieving-instance-metadata.html',
  ],
  ['fd00:c1::a9fe:a9fe', 'https://docs.oracle.com/iaas/Content/Compute/Tasks/gettingmetadata.htm'],
  // Akamai (Linode).
  ['fd00:a9fe:a9fe::1', 'https://techdocs.akamai.com/cloud-computing/docs/metadata-service-api'],
  // Scaleway.
  ['fd00:42::42', 'https://www.scaleway.com/en/docs/instances/how-to/use-cloud-init/'],
];

const LINK_LOCAL_AND_METADATA: readonly (readonly [cidr: string, name: string])[] = [
  ['169.254.0.0/16', 'link-local and cloud metadata'],
  ['fe80::/10', 'link-local'],
  ...METADATA.map(([address]) => [address, 'cloud metadata'] as const),
];

// Addresses that are not on the public internet: IANA's special-purpose registries (RFC 6890), multicast and
// reserved.
const NOT_PUBLIC: readonly (readonly [cidr: string, name: string])[] = [
  ['0.0.0.0/8', 'this network'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'shared address space'],
  ['127.0.0.0/8', 'loopback'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'protocol assignments'],
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', '6to4 relay'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/3', 'multicast and reserved'],
  ['::/96', 'unspecified, loopback and IPv4-compatible'],
  ['::ffff:0:0:0/96', 'SIIT'],
  ['64:ff9b::/96', 'NAT64'],
  ['64:ff9b:1::/48', 'local NAT64'],
  ['100::/64', 'discard'],
  ['2001::/23', 'protocol assignments and Teredo'],
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', '6to4'],
  ['3fff::/20', 'documentation'],
  ['5f00::/16', 'segment routing'],
  ['fc00::/7', 'unique local'],
  ['fec0::/10', 'site-local'],
  ['ff00::/8', 'multicast'],
];

const ALLOWED: EgressVerdict = { allowed: true };
const MAX_CACHED = 4_096;

/**
 * Makes a guard from the built-in rules and the operator's rules.
 *
 * @throws TypeError when an entry is neither a valid address nor a valid CIDR
 */
export function createEgressGuard(options: EgressOptions): EgressGuard {
  const builtIn =
    options.base === 'agent' ? LINK_LOCAL_AND_METADATA : [...LINK_LOCAL_AND_METADATA, ...NOT_PUBLIC];
  const deny = [
    ...options.deny.map((cidr) => parseRule(cidr)),
    ...builtIn.map(([cidr, name]) => parseRule(cidr, `${cidr}, ${name}`)),
  ];
  const allow = options.allow.map((cidr) => parseRule(cidr));
  // Targets repeat every period, so nearly every verdict comes from the cache. A full cache is emptied, which
  // is simpler than eviction and costs a few microseconds per address once in a while.
  const cache = new Map<string, EgressVerdict>();

  return {
    verdict(address) {
      const known = cache.get(address);
      if (known !== undefined) return known;
      const verdict = judge(address, deny, allow);
      if (cache.size >= MAX_CACHED) cache.clear();
      cache.set(address, verdict);
      return verdict;
    },
  };
}

/**
 * Reads a list of CIDRs and addresses separated by commas or white space, as settings hold it.
 *
 * @throws TypeError that names the first wrong entry and what is wrong with it
 */
export function parseCidrList(text: string): string[] {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  for (const entry of entries) parseRule(entry);
  return entries;
}

function judge(text: string, deny: readonly Rule[], allow: readonly Rule[]): EgressVerdict {
  const bytes = addressBytes(text);
  if (bytes === null) return { allowed: false, rule: 'not an IP address' };
  // The guard judges each form of the address separately. Allowing 64:ff9b::/96 opens the
  // translator, not the addresses behind it.
  for (const form of formsOf(ipaddr.fromByteArray(bytes))) {
    if (allow.some((rule) => covers(rule, form))) continue;
    const denied = deny.find((rule) => covers(rule, form));
    if (denied) return { allowed: false, rule: denied.text };
  }
  return ALLOWED;
}

/**
 * The address itself, and each address to which the kernel, a translator or a tunnel connects in its place.
 * Of an IPv4-mapped address, only the IPv4 address is a form.
 */
function formsOf(address: Address): Address[] {
  // Linux connects the unspecified address to loopback (RFC 1122 section 3.2.1.3 leaves it undefined).
  if (address.toByteArray().every((byte) => byte === 0)) {
    return [address, ipaddr.parse(address.kind() === 'ipv4' ? '127.0.0.1' : '::1')];
  }
  if (address instanceof ipaddr.IPv4) return [address];
  // The kernel dials ::ffff:a.b.c.d as a.b.c.d, so there is no IPv6 form to judge.
  if (address.isIPv4MappedAddress()) return formsOf(address.toIPv4Address());
  const bytes = address.toByteArray();
  if (covers(NAT64, address) || covers(SIIT, address)) return [address, new ipaddr.IPv4(bytes.slice(12))];
  if (covers(SIX_TO_FOUR, address)) return [address, new ipaddr.IPv4(bytes.slice(2, 6))];
  return [address];
}

function covers(rule: Rule, address: Address): boolean {
  return rule.range.kind() === address.kind() && address.match(rule.range, rule.prefix);
}

function parseRule(cidr: string, text = cidr): Rule {
  const [address = '', length, ...rest] = cidr.split('/', 3);
  const bytes = addressBytes(address);
  if (bytes === null || address.includes('%') || rest.length > 0) {
    throw new TypeError(`"${cidr}" is neither an IP address nor a CIDR such as 10.0.0.0/8 or fd00::/8`);
  }
  const bits = bytes.length * 8;
  const prefix = length === undefined ? bits : Number(length);
  if (length !== undefined && !(/^\d{1,3}$/.test(length) && prefix <= bits)) {
    throw new TypeError(`"${cidr}": the prefix length must be 0 to ${bits}`);
  }
  const range = ipaddr.fromByteArray(bytes);
  if (range instanceof ipaddr.IPv6 && range.isIPv4MappedAddress()) {
    throw new TypeError(`"${cidr}": write IPv4-mapped ranges as IPv4`);
  }
  const network = networkOf(range, prefix);
  if (network.toNormalizedString() !== range.toNormalizedString()) {
    throw new TypeError(`"${cidr}" has bits set after its prefix; did you mean ${network}/${prefix}?`);
  }
  return { range, prefix, text };
}

function networkOf(address: Address, prefix: number): Address {
  const bytes = address.toByteArray().map((byte, index) => {
    const kept = Math.min(8, Math.max(0, prefix - index * 8));
    return byte & (0xff00 >> kept) & 0xff;
  });
  return ipaddr.fromByteArray(bytes);
}

const NAT64 = parseRule('64:ff9b::/96');
// RFC 2765, section 2.1: ::ffff:0:a.b.c.d. Today's translators use other prefixes, but some still translate
// this one.
const SIIT = parseRule('::ffff:0:0:0/96');
const SIX_TO_FOUR = parseRule('2002::/16');

/**
 * Why the guard refuses the host of the URL, as text that follows the name of the attribute. Null: the guard
 * allows the host, or the URL alone does not decide. It decides if the host is an address, or a name that
 * means the local machine everywhere (RFC 6761, section 6.3), which is judged as 127.0.0.1. Other names are
 * judged by their addresses when they are dialled.
 *
 * @param url an http or https URL
 */
export function deniedHost(guard: EgressGuard, url: string): string | null {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const address = /(?:^|\.)localhost$/.test(host) ? '127.0.0.1' : host;
  if (isIP(address) === 0) return null;
  const verdict = guard.verdict(address);
  if (verdict.allowed) return null;
  return `is at ${host}, which svc does not connect to (${verdict.rule}): the operator may allow it by SVC_CHANNEL_EGRESS_ALLOW`;
}
