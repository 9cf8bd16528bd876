import type { RecordType } from '@svc/shared/messages/check.ts';
import type { DnsMessage, DnsRecord } from './packet.ts';

/** Links of CNAME that are followed within one answer. */
const MAX_CHAIN = 16;

/**
 * The records of `type` that `name` has according to the message, in the order of the answer: those of the
 * name at the end of its CNAME chain, or with `CNAME` the first link itself. Records of names that were not
 * asked for are left out. A chain that leads out of the message ends there: recursive servers
 * follow it themselves.
 */
export function recordsOf(message: DnsMessage, name: string, type: RecordType): DnsRecord[] {
  let owner = name;
  for (let link = 0; link <= MAX_CHAIN; link++) {
    const found = message.answers.filter((record) => record.type === type && record.name === owner);
    if (found.length > 0 || type === 'CNAME') return found;
    const alias = message.answers.find((record) => record.type === 'CNAME' && record.name === owner);
    if (alias?.type !== 'CNAME') return [];
    owner = alias.target;
  }
  return [];
}

/** The record's value as assertions see it. */
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
