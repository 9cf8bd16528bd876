import { connect, isIP, isIPv6 } from 'node:net';
import type { Bus } from '@svc/shared/nats/bus.ts';
import { onAbort } from '@svc/shared/on-abort.ts';
import type { DnsClient } from '../dns/client.ts';
import { canonicalName } from '../dns/packet.ts';
import { type ServerAddress, serverName } from '../dns/servers.ts';
import type { Resolver } from '../resolve/resolver.ts';
import type { Family } from './families.ts';
import { isOwnAddress } from './own-addresses.ts';
import type { Reference } from './references.ts';

/** The root. Every name server can answer a question about it, if only with a refusal. */
const ROOT = canonicalName('.');
const REPEAT_MS = 600;

export type HostAndPort = { readonly host: string; readonly port: number };

/**
 * A reference that answers when a connection is accepted or refused. Its name is resolved for each question;
 * while that fails, its last addresses are used.
 */
export function tcpReference({ host, port }: HostAndPort, resolver: Resolver): Reference {
  let known: readonly string[] = isIP(host) === 0 ? [] : [host];
  return {
    name: `${host.includes(':') ? `[${host}]` : host}:${port} (tcp)`,
    async ask(signal, heard) {
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

/** A reference that answers when the server replies to a question, whatever it says. */
export function dnsReference(server: ServerAddress, client: DnsClient): Reference {
  return {
    name: `${serverName(server)} (dns)`,
    ask: (signal, heard) =>
      new Promise((settle) => {
        const policy = {
          servers: [server],
          waitMs: () => REPEAT_MS,
          tries: Number.POSITIVE_INFINITY,
          timeoutMs: 10 * REPEAT_MS,
        };
        const cancel = client.ask({ name: ROOT, type: 'A' }, policy, ({ kind }) => {
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
 * A reference that answers when a round trip to the NATS server ends.
 *
 * @param family address family of all its addresses; null: it has both, and nothing tells which one is used
 */
export function natsReference(name: string, bus: Bus, family: () => Family | null): Reference {
  return {
    name: `${name} (nats)`,
    ask: (signal, heard) =>
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
    // The name servers are gone too, or the reference's name is. The last addresses are asked.
    return known;
  }
}

/** Whether a connection is accepted or refused: both show that a machine is there. */
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
