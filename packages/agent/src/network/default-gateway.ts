import { readFileSync } from 'node:fs';

const ROUTES = '/proc/net/route';
const IPV6_ROUTES = '/proc/net/ipv6_route';
/** RTF_UP and RTF_GATEWAY (linux/route.h). */
const UP_BY_GATEWAY = 0x3;

/**
 * Addresses of the default gateways in the kernel's main table, the IPv4 one first. A link-local address has
 * its interface. A family without a gateway is left out, and so are both where the system is not Linux.
 */
export function defaultGateways(): string[] {
  return [gatewayIn(textOf(ROUTES)), ipv6GatewayIn(textOf(IPV6_ROUTES))].filter((each) => each !== null);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The system is not Linux, or has no such address family.
    return '';
  }
}

/** @param routes text of `/proc/net/route`: addresses as 32 bits in the machine's order, in hexadecimal */
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

/** @param routes text of `/proc/net/ipv6_route`: addresses as 32 hexadecimal digits; the columns are in net/ipv6/route.c */
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

/** Little-endian, like every machine that Node 24 runs on. */
function addressOf(hexadecimal: string): string {
  return [6, 4, 2, 0].map((at) => Number.parseInt(hexadecimal.slice(at, at + 2), 16)).join('.');
}
