import { afterReading } from '../after-reading.ts';
import { recordsOf, textOf } from '../dns/answers.ts';
import type { DnsClient } from '../dns/client.ts';
import type { AskPolicy, DnsReply } from '../dns/open-question.ts';
import { RCODE } from '../dns/packet.ts';
import type { Cancel } from '../dns/query.ts';
import type { ResolvedAddress } from './resolver.ts';

/** How long IPv4 addresses wait for IPv6 addresses that are still to come (RFC 8305, section 3). */
const RESOLUTION_DELAY_MS = 50;

export type AddressLookupResult =
  | { kind: 'found'; addresses: ResolvedAddress[] }
  /** The servers know that the name does not exist, or that it has no addresses. */
  | { kind: 'no-name' | 'no-address' }
  /** The reasons of {@link DnsReply}. */
  | { kind: 'failed' | 'silent' | 'unreachable' | 'unable'; why: string };

/**
 * Asks for the IPv4 and IPv6 addresses of one full name at the same time. `settle` is called once, never
 * before this returns.
 *
 * @param name canonical name
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
  let isOver = false;

  const cancel = () => {
    isOver = true;
    clearTimeout(delay);
    for (const cancelOne of cancels) cancelOne();
  };
  const finish = () => {
    if (isOver) return;
    cancel();
    settle(resultOf(name, replies));
  };
  for (const family of families) {
    const type = family === 4 ? 'A' : 'AAAA';
    const replied = (reply: DnsReply) => {
      replies.set(family, reply);
      if (replies.size === families.length || isUnknownName(family, reply)) finish();
      // IPv6 addresses alone never settle the look-up: where IPv6 is broken, only IPv4 saves the connection.
      else if (family === 4 && addressesIn(name, 4, reply).length > 0) {
        // An IPv6 answer that came within the delay may not be read yet.
        delay = setTimeout(() => afterReading(finish), RESOLUTION_DELAY_MS);
      }
    };
    cancels.push(client.ask({ name, type }, policy, replied));
  }
  return cancel;
}

/**
 * Whether the answer says that the name does not exist. About A that is reliable; about AAAA some servers say
 * it wrongly (RFC 4074, section 4.2).
 */
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

/** Mixes the families in turns, beginning with the first list's (RFC 8305, section 4). */
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
