import { LIMITS } from '../limits.ts';
import { type Attempts, type DnsCheck, RECORD_COMPARATORS, RECORD_TYPES } from '../messages/check.ts';
import { type Normalized, type ResourceDefinition, repeatedBlock, required } from './definition.ts';
import { MONITOR_API_MEMBERS, naming, running } from './monitor-common.ts';
import { asciiName, domainName } from './texts.ts';
import { choice, text } from './values.ts';

export const dnsMonitor = {
  kind: 'svc_dns_monitor' as const,
  noun: 'monitor',
  path: '/v1/monitors',
  title: 'DNS monitor',
  description:
    'Resolves a domain name and judges the records. Only the record types of the assertions are asked for. Without assertions, A and AAAA are asked for, and one of them must have a record. A name that does not exist is a failure, whatever is asserted.',
  constants: { type: 'dns' as const },
  attributes: {
    ...naming,
    uri: required(
      text({ min: 1, max: LIMITS.target, check: domainName, form: 'domain name' }),
      'Domain name that is resolved.',
      { label: 'Domain name' },
    ),
    ...running,
  },
  blocks: {
    record_assertions: repeatedBlock(LIMITS.assertions, 'Assertions on the records.', {
      record: required(choice(RECORD_TYPES), 'Record type.'),
      target: required(
        text({ max: LIMITS.assertionTarget, multiline: true }),
        'Expected value. A and AAAA: an address in any spelling. CNAME: a name, which is compared with every link of the chain. MX: `10 mail.example.com`, or the name alone. TXT: the text, as it is or in quotes.',
      ),
      comparator: required(
        choice(RECORD_COMPARATORS),
        '`eq` and `contains` hold when some record matches. `neq` and `not_contains` hold when no record matches.',
      ),
    }),
  },
  rules: [],
  apiMembers: MONITOR_API_MEMBERS,
} satisfies ResourceDefinition;

export type DnsMonitor = Normalized<typeof dnsMonitor>;

export function dnsCheckOf({ uri, record_assertions }: DnsMonitor, attempts: Attempts): DnsCheck {
  return { type: 'dns', uri: asciiName(uri), record_assertions, ...attempts };
}
