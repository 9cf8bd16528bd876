import { recordsOf, textOf } from '../dns/answers.ts';
import type { AskPolicy, DnsClient, DnsReply } from '../dns/client.ts';
import { RCODE } from '../dns/packet.ts';
import type { Cancel } from '../dns/query.ts';
import type { ResolvedAddress } from './resolver.ts';

/** RFC 8305 section 3: how long IPv4 addresses wait for IPv6 addresses still to come. */
const RESOLUTION_DELAY_MS = 50;

export type AddressLookupResult =
  | { kind: 'found'; addresses: ResolvedAddress[] }
  /** The servers know the name not at all, or without addresses. */
  | { kind: 'no-name' | 'no-address' }
  /** As {@link DnsReply}. */
  | { kind: 'failed' | 'silent' | 'unreachable' | 'unable'; why: string };

/**
 * Asks for the addresses of one full name, IPv4 and IPv6 side by side. `settle` is called once, never
 * before this returns.
 *
 * @param name canonical
 */
export function lookUpAddresses(
  client: DnsClient,
  name: string,
  policy: AskPolicy,
  families: readonly (4 | 6)[],
  settle: (result: AddressLookupResult) => void,
): Cancel {
  const replies = new Map<4 | 6, DnsReply>();
  const cancels: Cancel[] = [];
  let delay: NodeJS.Timeout | undefined;

  const cancel = () => {
    clearTimeout(delay);
    for (const cancelOne of cancels) cancelOne();
  };
  const finish = () => {
    cancel();
    settle(resultOf(name, replies));
  };
  for (const family of families) {
    const type = family === 4 ? 'A' : 'AAAA';
    const replied = (reply: DnsReply) => {
      replies.set(family, reply);
      if (replies.size === families.length || isUnknownName(family, reply)) finish();
      // IPv6 alone never goes ahead: where it is broken, only IPv4 saves the connection.
      else if (family === 4 && addressesIn(name, 4, reply).length > 0) {
        delay = setTimeout(finish, RESOLUTION_DELAY_MS);
      }
    };
    cancels.push(client.ask({ name, type }, policy, replied));
  }
  return cancel;
}

/** Said about A it is true of the name; about AAAA some servers say it without meaning it (RFC 4074 section 4.2). */
function isUnknownName(family: 4 | 6, reply: DnsReply): boolean {
  return family === 4 && reply.kind === 'answer' && reply.message.rcode === RCODE.noSuchName;
}

function resultOf(name: string, replies: ReadonlyMap<4 | 6, DnsReply>): AddressLookupResult {
  const addresses = interleave(addressesIn(name, 6, replies.get(6)), addressesIn(name, 4, replies.get(4)));
  if (addresses.length > 0) return { kind: 'found', addresses };
  for (const reply of replies.values()) if (reply.kind !== 'answer') return reply;
  const isUnknown = [...replies].some(([family, reply]) => isUnknownName(family, reply));
  return { kind: isUnknown ? 'no-name' : 'no-address' };
}

function addressesIn(name: string, family: 4 | 6, reply: DnsReply | undefined): ResolvedAddress[] {
  if (reply?.kind !== 'answer') return [];
  const records = recordsOf(reply.message, name, family === 4 ? 'A' : 'AAAA');
  return records.map((record) => ({ address: textOf(record), family }));
}

/** RFC 8305 section 4: the families in turns, beginning with the first list's. */
export function interleave(
  first: readonly ResolvedAddress[],
  second: readonly ResolvedAddress[],
): ResolvedAddress[] {
  const mixed: ResolvedAddress[] = [];
  for (let index = 0; index < Math.max(first.length, second.length); index += 1) {
    for (const list of [first, second]) {
      const address = list[index];
      if (address !== undefined) mixed.push(address);
    }
  }
  return mixed;
}
