import { expect, test } from 'vitest';
import { gatewayIn, ipv6GatewayIn } from './default-gateway.ts';

const HEAD = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n';
const route = (destination: string, gateway: string, metric: number, mask: string): string =>
  `eth0\t${destination}\t${gateway}\t0003\t0\t0\t${metric}\t${mask}\t0\t0\t0   \n`;

test('the gateway of the default route with the lowest metric', () => {
  const routes =
    HEAD +
    route('000200C0', '00000000', 0, '00FFFFFF') +
    route('00000000', '0101A8C0', 600, '00000000') +
    route('00000000', '010200C0', 100, '00000000');
  expect(gatewayIn(routes)).toBe('192.0.2.1');
});

test('none, where there is no default route or it has no gateway', () => {
  expect(gatewayIn(HEAD)).toBeNull();
  expect(gatewayIn(HEAD + route('00000000', '00000000', 0, '00000000'))).toBeNull();
  expect(gatewayIn('')).toBeNull();
});

const ZERO = '0'.repeat(32);
const LINE = (hop: string, metric: string, flags: string, device: string, to = ZERO, length = '00') =>
  `${to} ${length} ${ZERO} 00 ${hop} ${metric} 00000001 00000000 ${flags}     ${device}`;
const ROUTER = 'fe80000000000000000000000000000a';
const GLOBAL = '20010db8000000000000000000000001';

test.each([
  ['', null],
  [LINE(ZERO, 'ffffffff', '00200200', 'lo'), null],
  [LINE(GLOBAL, '00000400', '00000003', 'eth0'), '2001:0db8:0000:0000:0000:0000:0000:0001'],
  [LINE(ROUTER, '00000400', '00450003', 'eth0'), 'fe80:0000:0000:0000:0000:0000:0000:000a%eth0'],
  [
    [LINE(ROUTER, '00000400', '00450003', 'eth0'), LINE(GLOBAL, '00000100', '00000003', 'eth1')].join('\n'),
    '2001:0db8:0000:0000:0000:0000:0000:0001',
  ],
  [LINE(ROUTER, '00000400', '00000003', 'eth0', GLOBAL, '40'), null],
])('the IPv6 gateway in %j is %s', (routes, gateway) => {
  expect(ipv6GatewayIn(routes)).toBe(gateway);
});
