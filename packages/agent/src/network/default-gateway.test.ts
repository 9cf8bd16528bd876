import { expect, test } from 'vitest';
import { gatewayIn } from './default-gateway.ts';

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
