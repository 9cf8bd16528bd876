import { readFileSync } from 'node:fs';
import { connect, isIP, isIPv6 } from 'node:net';
import type { Bus } from '@svc/shared/nats/bus.ts';
import { onAbort } from '@svc/shared/waiting.ts';
import { DnsClient } from '../dns/client.ts';
import { canonicalName } from '../dns/packet.ts';
import { parseServer, type ServerAddress, serverName } from '../dns/servers.ts';
import { parseHostPort } from '../probes/tcp/host-port.ts';
import type { Resolver } from '../resolve/resolver.ts';
import { SystemFiles } from '../resolve/system-files.ts';
import { createSystemResolver } from '../resolve/system-resolver.ts';
import { type Family, familiesOf } from './families.ts';
import { isOwnAddress } from './own-addresses.ts';
import type { Reference } from './references.ts';

const GATEWAY_PORT = 53;
const NATS_PORT = 4222;

export type ReferenceListParts = {
  /**
   * References as the operator wrote them, `host:port`. Undefined:
   * {@link createReferenceList} finds the references itself.
   */
  readonly hosts: readonly string[] | undefined;
  /** Name servers of DNS monitors. Unless `hosts` is given, they and the system's are references. */
  readonly dnsServers: readonly string[] | undefined;
  /** Value of `SVC_NATS_URL`. */
  readonly natsUrl: string;
  readonly bus: Bus;
};

export type ReferenceList = { list(): readonly Reference[]; close(): Promise<void> };

/**
 * Creates the list of references: hosts whose answers show that the agent's own network works.
 * The operator may list them. Without such a list, they are the default gateways of IPv4 and IPv6
 * (port 53), the name servers and the NATS server. Hosts that are this machine are left out.
 */
export function createReferenceList(parts: ReferenceListParts): ReferenceList {
  const { hosts, dnsServers, natsUrl, bus } = parts;
  const resolver = createSystemResolver();
  const client = new DnsClient();
  const close = async (): Promise<void> => {
    await Promise.all([client.close(), resolver.close()]);
  };
  if (hosts !== undefined) {
    const given = hosts.map((host) => tcpReference(parseReferenceHost(host), resolver));
    return { list: () => given, close };
  }
  const known = new Map<string, Reference>();
  const system = new SystemFiles();
  const given = (dnsServers ?? []).map(parseServer);
  const nats = new NatsOutside(natsUrl, bus, resolver);
  let gateways: readonly string[] = [];
  const gateway = (host: string): Reference =>
    remembered(known, `gateway ${host}`, () => {
      const { name, askReference } = tcpReference({ host, port: GATEWAY_PORT }, resolver);
      return {
        name,
        async askReference(signal, heard) {
          // A former gateway still answers on this machine's link, which says nothing about hosts beyond it.
          if (gateways.includes(host)) await askReference(signal, heard);
        },
      };
    });
  const dns = (server: ServerAddress): Reference =>
    remembered(known, `dns ${server.host} ${server.port}`, () => dnsReference(server, client));
  return {
    list() {
      gateways = defaultGateways();
      const servers = [...system.resolvConf.servers, ...given].filter(({ host }) => !isOwnAddress(host));
      return [...gateways.map(gateway), ...servers.map(dns), ...nats.references()];
    },
    close,
  };
}

/**
 * Reads a reference that the operator listed.
 *
 * @throws TypeError when the text is not `host:port`, with an IPv6 address in brackets
 */
export function parseReferenceHost(text: string): HostAndPort {
  const parsed = parseHostPort(text);
  if (parsed === null) throw new TypeError(`"${text}" is not host:port, with an IPv6 address in brackets`);
  return parsed;
}

function remembered(known: Map<string, Reference>, key: string, make: () => Reference): Reference {
  const reference = known.get(key) ?? make();
  known.set(key, reference);
  return reference;
}

/**
 * The NATS server as a reference. It becomes a reference when its
 * addresses are known and none of them belongs to this machine.
 */
class NatsOutside {
  readonly #hosts: readonly string[];
  readonly #reference: Reference;
  readonly #resolver: Resolver;
  #isOutside: boolean | null = null;
  #family: Family | null = null;
  #isLooking = false;

  constructor(natsUrl: string, bus: Bus, resolver: Resolver) {
    const servers = natsUrl.split(',').map((server) => natsAddress(server.trim()));
    this.#hosts = servers.map(({ host }) => host);
    const name = servers.map(({ host, port }) => `${host}:${port}`).join(',');
    this.#reference = natsReference(name, bus, () => this.#family);
    this.#resolver = resolver;
  }

  references(): readonly Reference[] {
    if (this.#isOutside === null && !this.#isLooking) void this.#lookUpHosts();
    return this.#isOutside === true ? [this.#reference] : [];
  }

  /** Resolves the names of the NATS servers. If a look-up fails, the next round tries again. */
  async #lookUpHosts(): Promise<void> {
    this.#isLooking = true;
    try {
      const found = (await Promise.all(this.#hosts.map((host) => this.#resolver.resolve(host)))).flat();
      this.#isOutside = found.every(({ address }) => !isOwnAddress(address));
      const [family, other] = familiesOf(found);
      this.#family = other === undefined ? (family ?? null) : null;
    } catch {
      // The addresses are not known, so the NATS server is not a reference for now.
      this.#isOutside = null;
    } finally {
      this.#isLooking = false;
    }
  }
}

function natsAddress(server: string): HostAndPort {
  const url = new URL(`nats://${server.replace(/^[a-z]+:\/\//i, '')}`);
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || NATS_PORT) };
}

const ROUTES = '/proc/net/route';
const IPV6_ROUTES = '/proc/net/ipv6_route';
/** The flags RTF_UP and RTF_GATEWAY (linux/route.h). */
const UP_BY_GATEWAY = 0x3;

/**
 * Addresses of the default gateways in the kernel's lists of routes, the IPv4
 * gateway first. A link-local address has its interface at the end (`%eth0`). A family
 * without a gateway is left out. The list is empty on systems other than Linux.
 */
function defaultGateways(): string[] {
  return [gatewayIn(textOf(ROUTES)), ipv6GatewayIn(textOf(IPV6_ROUTES))].filter((each) => each !== null);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The system is not Linux, the kernel lacks this address family, or no descriptor is left.
    return '';
  }
}

/**
 * The default gateway of IPv4 with the lowest metric; null when there is none.
 *
 * @param routes text of `/proc/net/route`: addresses as 32 bits in the machine's byte order, in hexadecimal
 */
export function gatewayIn(routes: string): string | null {
  let best: { gateway: string; metric: number } | null = null;
  for (const line of routes.split('\n').slice(1)) {
    const [, destination, gateway = '', , , , metric = '', mask] = line.split('\t');
    const isDefault = destination === '00000000' && mask === '00000000';
    if (!isDefault || !/^[0-9A-F]{8}$/.test(gateway) || gateway === '00000000') continue;
    if (best === null || Number(metric) < best.metric) best = { gateway, metric: Number(metric) };
  }
  return best === null ? null : addressOf(best.gateway);
}

/**
 * The default gateway of IPv6 with the lowest metric; null when there is none.
 *
 * @param routes text of `/proc/net/ipv6_route`: addresses as
 *   32 hexadecimal digits; the columns are in net/ipv6/route.c
 */
export function ipv6GatewayIn(routes: string): string | null {
  let best: { gateway: string; metric: number } | null = null;
  for (const line of routes.split('\n')) {
    const [destination = '', length, , , hop = '', hex = '', , , flags = '', device = ''] = line
      .trim()
      .split(/ +/);
    const isDefault = /^0{32}$/.test(destination) && length === '00';
    const isByGateway = (Number.parseInt(flags, 16) & UP_BY_GATEWAY) === UP_BY_GATEWAY;
    if (!isDefault || !isByGateway || !/^[0-9a-f]{32}$/.test(hop)) continue;
    const metric = Number.parseInt(hex, 16);
    const gateway = hop.replace(/(?<=.)(?=(.{4})+$)/g, ':') + (/^fe[89ab]/.test(hop) ? `%${device}` : '');
    if (best === null || metric < best.metric) best = { gateway, metric };
  }
  return best === null ? null : best.gateway;
}

/**
 * Reads an address from its bytes in little-endian order, as x86 and ARM write it. On a big-endian
 * machine, the result is a wrong address. It is unlikely to answer, and then never counts.
 */
function addressOf(hexadecimal: string): string {
  return [6, 4, 2, 0].map((at) => Number.parseInt(hexadecimal.slice(at, at + 2), 16)).join('.');
}

/** The root domain. Every name server can answer a question about it, at least with a refusal. */
const ROOT = canonicalName('.');
const REPEAT_MS = 600;

type HostAndPort = { readonly host: string; readonly port: number };

/**
 * A reference that is asked by connecting to it. A refused connection is an answer too. The host's
 * name is resolved for each question. While it cannot be resolved, its last known addresses are used.
 */
export function tcpReference({ host, port }: HostAndPort, resolver: Resolver): Reference {
  let known: readonly string[] = isIP(host) === 0 ? [] : [host];
  return {
    name: `${host.includes(':') ? `[${host}]` : host}:${port} (tcp)`,
    async askReference(signal, heard) {
      if (isIP(host) === 0) known = await addressesOf(host, resolver, signal, known);
      const outside = known.filter((address) => !isOwnAddress(address));
      await Promise.all(
        outside.map(async (address) => {
          if (await speaks(address, port, signal)) heard(familyOf(address));
        }),
      );
    },
  };
}

/** A name server as a reference. Any reply is an answer, whatever it says. */
export function dnsReference(server: ServerAddress, client: DnsClient): Reference {
  return {
    name: `${serverName(server)} (dns)`,
    askReference: (signal, heard) =>
      new Promise((settle) => {
        const policy = {
          servers: [server],
          waitMs: () => REPEAT_MS,
          tries: Number.POSITIVE_INFINITY,
          timeoutMs: 10 * REPEAT_MS,
        };
        const cancel = client.askServers({ name: ROOT, type: 'A' }, policy, ({ kind }) => {
          if (kind === 'answer' || kind === 'failed') heard(familyOf(server.host));
          settle();
        });
        onAbort(signal, () => {
          cancel();
          settle();
        });
      }),
  };
}

/**
 * The NATS server as a reference. The end of a round trip over the agent's connection is its answer.
 *
 * @param family returns the family of all addresses of the server; null when it has
 *   addresses of both families, because the family of the connection is then not known
 */
function natsReference(name: string, bus: Bus, family: () => Family | null): Reference {
  return {
    name: `${name} (nats)`,
    askReference: (signal, heard) =>
      new Promise((settle) => {
        onAbort(signal, settle);
        bus.flush().then(
          () => {
            if (!signal.aborted) heard(family());
            settle();
          },
          () => settle(),
        );
      }),
  };
}

function familyOf(address: string): Family {
  return isIPv6(address) ? 6 : 4;
}

async function addressesOf(
  host: string,
  resolver: Resolver,
  signal: AbortSignal,
  known: readonly string[],
): Promise<readonly string[]> {
  try {
    const found = await resolver.resolve(host, signal);
    return found.map(({ address }) => address);
  } catch {
    // The name servers are gone too, the reference's name no longer exists,
    // or the round has ended. The last known addresses are used.
    return known;
  }
}

/** Whether a connection is accepted or refused. Either shows that a machine is there. */
function speaks(host: string, port: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((settle) => {
    const socket = connect({ host, port, autoSelectFamily: false });
    const end = (isThere: boolean): void => {
      socket.destroy();
      settle(isThere);
    };
    socket.once('connect', () => end(true));
    socket.on('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED'));
    onAbort(signal, () => end(false));
  });
}
