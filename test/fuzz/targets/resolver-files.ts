import { deepEqual, ok } from 'node:assert/strict';
import { isIP } from 'node:net';
import { candidateNames, parseResolvConf } from '@svc/agent/resolve/resolv-conf.ts';
import { parseHostsFile } from '@svc/agent/resolve/system-files.ts';
import { type FuzzTarget, latin1, never } from '../target.ts';

const HOSTNAME = 'host.example.com';

const inLines = (text: string, end: string): string => text.replaceAll(/\r?\n/g, end);

export const RESOLV_CONF: FuzzTarget = {
  name: 'resolv-conf',
  corpus: [
    'nameserver 10.0.0.53\nnameserver fd00::53\nsearch example.com example.org\noptions ndots:5 timeout:1\n',
    '# a comment\n; another\ndomain example.com\nnameserver [10.0.0.53]:5353\noptions rotate no-aaaa attempts:9\n',
    'nameserver fe80::1%eth0\nsearch .\noptions ndots:16 timeout:0 edns0\n',
  ].map(latin1),
  words: [
    'nameserver ',
    'search ',
    'domain ',
    'options ',
    'ndots:',
    'timeout:',
    '#',
    ';',
    '[',
    ']',
    ':53',
    '%eth0',
    '::1',
  ],
  parse: (input) => parseResolvConf(input.toString(), HOSTNAME),
  isRefusal: never,
  check(input) {
    const text = input.toString();
    const read = parseResolvConf(text, HOSTNAME);
    const { servers, ndots, timeoutMs, attempts, search } = read;
    ok(servers.length >= 1 && servers.length <= 3, `${servers.length} servers`);
    for (const { host, port } of servers)
      ok(isIP(host) !== 0 && port >= 1 && port <= 65_535, `server ${host}`);
    ok(ndots <= 15 && timeoutMs >= 1_000 && timeoutMs <= 30_000 && attempts >= 1 && attempts <= 5);
    for (const suffix of search) ok(suffix !== '' && !/\s/.test(suffix), `suffix ${JSON.stringify(suffix)}`);
    ok(candidateNames('a', read).length === search.length + 1);
    deepEqual(
      parseResolvConf(inLines(text, '\r\n'), HOSTNAME),
      parseResolvConf(inLines(text, '\n'), HOSTNAME),
    );
    deepEqual(
      parseResolvConf(inLines(text, ' # x\n'), HOSTNAME),
      parseResolvConf(inLines(text, '\n'), HOSTNAME),
    );
  },
};

export const HOSTS_FILE: FuzzTarget = {
  name: 'hosts-file',
  corpus: [
    '127.0.0.1 localhost\n::1 localhost ip6-localhost\n192.0.2.1 Web web.example.com # a comment\n',
    '#127.0.0.1 no\n10.0.0.1\n10.0.0.2 a b a\n10.0.0.3\ta\r\nfe80::1%eth0 zone\nx y\n',
  ].map(latin1),
  words: ['127.0.0.1 ', '::1 ', ' a', '#', 'localhost', '__proto__', '\u2028', '%eth0'],
  parse: (input) => parseHostsFile(input.toString()),
  isRefusal: never,
  check(input) {
    const text = input.toString();
    for (const [name, addresses] of parseHostsFile(text)) {
      ok(name !== '' && !/[\s#]/.test(name), `name ${JSON.stringify(name)}`);
      for (const { address, family } of addresses) ok(isIP(address) === family, `address ${address}`);
    }
    deepEqual(parseHostsFile(inLines(text, '\r\n')), parseHostsFile(inLines(text, '\n')));
    deepEqual(parseHostsFile(inLines(text, ' # x\n')), parseHostsFile(inLines(text, '\n')));
  },
};
