import { readFileSync } from 'node:fs';

const ROUTES = '/proc/net/route';

/** IPv4 address of the gateway that the kernel's main table has for everything else; null: none, or not Linux. */
export function defaultGateway(): string | null {
  try {
    return gatewayIn(readFileSync(ROUTES, 'utf8'));
  } catch {
    // Not Linux.
    return null;
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

/** Little-endian, as every machine that Node 24 runs on. */
function addressOf(hexadecimal: string): string {
  return [6, 4, 2, 0].map((at) => Number.parseInt(hexadecimal.slice(at, at + 2), 16)).join('.');
}
