import type { Bus } from '@svc/shared/nats/bus.ts';
import { DnsClient } from '../dns/client.ts';
import { parseServer, type ServerAddress } from '../dns/servers.ts';
import { parseHostPort } from '../probes/tcp/host-port.ts';
import type { Resolver } from '../resolve/resolver.ts';
import { SystemFiles } from '../resolve/system-files.ts';
import { createSystemResolver } from '../resolve/system-resolver.ts';
import { dnsReference, type HostAndPort, natsReference, tcpReference } from './asking.ts';
import { defaultGateways } from './default-gateway.ts';
import { type Family, familiesOf } from './families.ts';
import { isOwnAddress } from './own-addresses.ts';
import type { Reference } from './references.ts';

const GATEWAY_PORT = 53;
const NATS_PORT = 4222;

export type ReferenceListParts = {
  /**
   * References as the operator wrote them, `host:port`; undefined: those that {@link createReferenceList}
   * finds.
   */
  readonly hosts: readonly string[] | undefined;
  /** Resolvers of DNS monitors, in addition to the system's. */
  readonly dnsServers: readonly string[] | undefined;
  /** Value of `SVC_NATS_URL`. */
  readonly natsUrl: string;
  readonly bus: Bus;
};

export type ReferenceList = { list(): readonly Reference[]; close(): Promise<void> };

/**
 * Creates the agent's references: the operator's, or else the default gateways of IPv4 and IPv6 (port 53), the
 * name servers and the NATS server, unless they are on this machine.
 */
export function createReferenceList(parts: ReferenceListParts): ReferenceList {
  const { hosts, dnsServers, natsUrl, bus } = parts;
  const resolver = createSystemResolver();
  const client = new DnsClient();
  const close = async (): Promise<void> => {
    await Promise.all([client.close(), resolver.close()]);
  };
  const known = new Map<string, Reference>();
  const tcp = (address: HostAndPort): Reference =>
    remembered(known, `tcp ${address.host} ${address.port}`, () => tcpReference(address, resolver));
  if (hosts !== undefined) {
    const given = hosts.map(parseReferenceHost).map(tcp);
    return { list: () => given, close };
  }
  const system = new SystemFiles();
  const given = (dnsServers ?? []).map(parseServer);
  const nats = new NatsOutside(natsUrl, bus, resolver);
  const dns = (server: ServerAddress): Reference =>
    remembered(known, `dns ${server.host} ${server.port}`, () => dnsReference(server, client));
  return {
    list() {
      const servers = [...system.resolvConf.servers, ...given].filter(({ host }) => !isOwnAddress(host));
      return [
        ...defaultGateways().map((host) => tcp({ host, port: GATEWAY_PORT })),
        ...servers.map(dns),
        ...nats.references(),
      ];
    },
    close,
  };
}

/** @throws TypeError when the text is not `host:port`, with an IPv6 address in brackets */
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

/** The NATS server as a reference. It counts once none of its addresses is known to be this machine's. */
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
    if (this.#isOutside === null && !this.#isLooking) void this.#look();
    return this.#isOutside === true ? [this.#reference] : [];
  }

  /** Resolves the names. When that fails, the next round tries again. */
  async #look(): Promise<void> {
    this.#isLooking = true;
    try {
      const found = (await Promise.all(this.#hosts.map((host) => this.#resolver.resolve(host)))).flat();
      this.#isOutside = found.every(({ address }) => !isOwnAddress(address));
      const [family, other] = familiesOf(found);
      this.#family = other === undefined ? (family ?? null) : null;
    } catch {
      // Not known yet, so it is not a reference for now.
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
