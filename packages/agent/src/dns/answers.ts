import type { RecordType } from '@svc/shared/messages/check.ts';
import type { DnsMessage, DnsRecord } from './packet.ts';

/** Maximum number of CNAME links that are followed. */
export const MAX_CHAIN = 16;

/**
 * The records of `type` that the message has for `name`, in the order of the answer.
 *
 * The records belong to the last name in the CNAME chain of `name`, or to an earlier
 * name of the chain if that name has such records. For the type `CNAME`, the records
 * are the links of the chain. Records of other names are left out. A chain that leads
 * out of the message ends there, because recursive servers send the whole chain.
 */
export function recordsOf(message: DnsMessage, name: string, type: RecordType): DnsRecord[] {
  const chain = chainOf(message, name);
  if (type === 'CNAME') return chain;
  // A name with an alias should have no other record. Some servers send one nevertheless, and clients take
  // the first record that they find.
  for (const owner of [name, ...chain.map(({ target }) => target)]) {
    const found = message.answers.filter((record) => record.type === type && record.name === owner);
    if (found.length > 0) return found;
  }
  return [];
}

/**
 * Says why the aliases of `name` can never lead to a record: they form a circle,
 * or are too many. Null when the chain ends, or leads out of the message. Some
 * authoritative servers (Knot, NSD) answer NOERROR with the links of a circle.
 */
export function brokenChain(message: DnsMessage, name: string): string | null {
  const chain = chainOf(message, name).map(({ target }) => target);
  const last = chain.at(-1);
  if (last === undefined) return null;
  const circle = circleIn([name, ...chain]);
  if (circle !== null) return circle;
  const goesOn = message.answers.some((record) => record.type === 'CNAME' && record.name === last);
  return goesOn ? `more than ${MAX_CHAIN} aliases` : null;
}

/**
 * Describes the circle that the last name of a chain closes, because it occurs in the chain
 * before. Null when it does not. Each name of the chain is an alias for the next.
 */
export function circleIn(names: readonly string[]): string | null {
  const last = names.at(-1) ?? '';
  const first = names.indexOf(last);
  return first === names.length - 1 ? null : `aliases in a circle (${names.slice(first).join(' → ')})`;
}

type Alias = Extract<DnsRecord, { type: 'CNAME' }>;

/**
 * The links of the CNAME chain that begins at `name`, in order, at most
 * {@link MAX_CHAIN}. A circular chain ends where its circle closes.
 */
function chainOf(message: DnsMessage, name: string): Alias[] {
  const aliases = new Map<string, Alias>();
  for (const record of message.answers) {
    if (record.type === 'CNAME' && !aliases.has(record.name)) aliases.set(record.name, record);
  }
  const chain: Alias[] = [];
  let link = aliases.get(name);
  while (link !== undefined && chain.length < MAX_CHAIN) {
    chain.push(link);
    aliases.delete(link.name);
    link = aliases.get(link.target);
  }
  return chain;
}

/** The value of a record in the form in which assertions compare it. */
export function textOf(record: DnsRecord): string {
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return record.address;
    case 'CNAME':
      return record.target;
    case 'MX':
      return `${record.preference} ${record.exchange}`;
    case 'TXT':
      return record.text;
    default:
      return record satisfies never;
  }
}
