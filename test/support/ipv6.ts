import { networkInterfaces } from 'node:os';

const hasIpv6Loopback = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

/** For `test.skipIf`: this machine has no IPv6 loopback. In CI such a test fails instead of being skipped. */
export const skipsIpv6 = !hasIpv6Loopback && process.env.CI !== 'true';
