import { deepEqual, equal, ok } from 'node:assert/strict';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { parseServer } from '@svc/agent/dns/servers.ts';
import { parseHostPort } from '@svc/agent/probes/tcp/host-port.ts';
import { numericAddress } from '@svc/agent/resolve/system-resolver.ts';
import { addressBytes, addressFromBytes, canonicalAddress } from '@svc/shared/address.ts';
import { createEgressGuard, parseCidrList } from '@svc/shared/egress.ts';
import { type FuzzTarget, latin1, never } from '../target.ts';

const LITERALS = [
  '127.0.0.1',
  '10.0.0.1',
  '169.254.169.254',
  '0.0.0.0',
  '8.8.8.8',
  '127.1',
  '0x7f.1',
  '0177.0.0.1',
  '2130706433',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '64:ff9b::7f00:1',
  '64:ff9b::169.254.169.254',
  '2002:7f00:1::',
  'fe80::1%eth0',
  'fd00:ec2::254',
  'FD00:EC2:0:0:0:0:0:254',
  '2001:db8::1',
  '::10.0.0.1',
  '1:2:3:4:5:6:7:8',
  '[::1]',
];
const WORDS = [
  ...LITERALS,
  '.',
  ':',
  '::',
  '%',
  '/',
  '0x',
  '0',
  '255',
  '256',
  'ffff',
  '::ffff:',
  '64:ff9b::',
  '2002:',
  '[',
  ']',
];

const agent = createEgressGuard({ base: 'agent', deny: [], allow: [] });
const channel = createEgressGuard({ base: 'channel', deny: [], allow: [] });

/** The addresses that no alert may go to, by another implementation. */
const INNER = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  INNER.addSubnet(network, prefix);
}

const dotted = (bytes: readonly number[]): string => bytes.join('.');

/** All spellings of an address. */
function spellingsOf(bytes: readonly number[]): string[] {
  if (bytes.length === 4) return [dotted(bytes), `::ffff:${dotted(bytes)}`];
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((bytes[2 * index] as number) * 256 + (bytes[2 * index + 1] as number)).toString(16),
  );
  const long = groups.join(':');
  return [
    long,
    long.toUpperCase(),
    groups.map((group) => group.padStart(4, '0')).join(':'),
    `${groups.slice(0, 6).join(':')}:${dotted(bytes.slice(12))}`,
    `${long}%eth0`,
    addressFromBytes(bytes),
  ];
}

export const ADDRESS: FuzzTarget = {
  name: 'address',
  corpus: LITERALS.map(latin1),
  words: WORDS,
  parse: (input) => [canonicalAddress(input.toString()), numericAddress(input.toString())],
  isRefusal: never,
  check(input) {
    const text = input.toString();
    asUrlsRead(text);
    const bytes = addressBytes(text);
    equal(bytes !== null, isIP(text) !== 0, 'whether it is an address');
    if (bytes === null) {
      equal(
        channel.verdict(text).allowed || agent.verdict(text).allowed,
        false,
        'what is no address may be dialled',
      );
      return;
    }
    const spellings = spellingsOf(bytes);
    for (const guard of [agent, channel]) {
      const { allowed } = guard.verdict(text);
      for (const spelling of spellings)
        equal(guard.verdict(spelling).allowed, allowed, `the verdict of ${spelling}`);
    }
    for (const spelling of spellings)
      deepEqual(addressBytes(spelling)?.slice(-bytes.length), bytes, spelling);
    for (const inner of innerAddresses(bytes)) {
      ok(!INNER.check(inner) || !channel.verdict(text).allowed, `leads to ${inner}`);
    }
  },
};

/** The IPv4 addresses as which a system or a translator may read it. */
function innerAddresses(bytes: readonly number[]): string[] {
  if (bytes.length === 4) return [dotted(bytes)];
  const hex = Buffer.from(bytes).toString('hex');
  if (/^(?:0{20}(?:0000|ffff)|0064ff9b0{16})/.test(hex)) return [dotted(bytes.slice(12))];
  return hex.startsWith('2002') ? [dotted(bytes.slice(2, 6))] : [];
}

/** Old spellings of IPv4 addresses have the same meaning as in URLs, where both parsers know them. */
function asUrlsRead(text: string): void {
  const numeric = numericAddress(text);
  if (numeric === null) return;
  equal(URL.parse(`http://${text}/`)?.hostname, numeric, 'what it is in a URL');
}

export const ADDRESS_LISTS: FuzzTarget = {
  name: 'address-lists',
  corpus: [
    '10.0.0.0/8, fd00::/8',
    '0.0.0.0/0 ::/0',
    '192.0.2.1\n2001:db8::/32,',
    '10.0.0.1/8',
    '::ffff:10.0.0.0/104',
  ].map(latin1),
  words: [...WORDS, ',', ' ', '/0', '/8', '/32', '/33', '/128', '/129', '/-1', '/08', '/1e1'],
  parse: (input) => createEgressGuard({ base: 'channel', deny: parseCidrList(input.toString()), allow: [] }),
  isRefusal: (error) => error instanceof TypeError && /neither an IP address|"/.test(error.message),
  // A setting of the operator: 64 KiB are 6,500 blocks, each of which takes 4 to 10 µs. Growth is tested separately.
  mostMs: 200,
  check(input) {
    const cidrs = accepted(() => parseCidrList(input.toString()));
    if (cidrs === null) return;
    const denied = createEgressGuard({ base: 'agent', deny: cidrs, allow: [] });
    const allowed = createEgressGuard({ base: 'channel', deny: [], allow: cidrs });
    for (const cidr of cidrs) {
      const [network = ''] = cidr.split('/');
      equal(denied.verdict(network).allowed, false, `${network} is denied by ${cidr}`);
      // The unspecified address leads to loopback, which must be allowed too. The same holds for ranges that begin
      // there.
      if (!isIPv6(network) && !network.startsWith('0.'))
        equal(allowed.verdict(network).allowed, true, `${network} is allowed by ${cidr}`);
    }
  },
};

export const HOST_PORT: FuzzTarget = {
  name: 'host-port',
  corpus: [
    'example.com:443',
    '[::1]:22',
    '10.0.0.1:1',
    'a:65535',
    '[fe80::1%eth0]:22',
    '10.0.0.53',
    'fd00::53',
  ].map(latin1),
  words: [...WORDS, ':0', ':1', ':65535', ':65536', ':053', ' ', '\n', '@', '/'],
  parse: (input) => parseHostPort(input.toString()),
  isRefusal: never,
  check(input) {
    const text = input.toString();
    const read = parseHostPort(text);
    if (read !== null) {
      const { host, port } = read;
      ok(port >= 1 && port <= 65_535 && host !== '' && !/[\s[\]/]/.test(host));
      deepEqual(
        parseHostPort(host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`),
        read,
        'read again',
      );
    }
    const server = accepted(() => parseServer(text));
    if (server !== null) ok(isIP(server.host) !== 0 && server.port >= 1 && server.port <= 65_535);
  },
};

/** Null: it is refused. */
function accepted<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TypeError) || !error.message.includes('"')) throw error;
    return null;
  }
}
