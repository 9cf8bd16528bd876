import { LIMITS } from '../limits.ts';
import type { Attempts, TcpCheck } from '../messages/check.ts';
import { type Normalized, type ResourceDefinition, required } from './definition.ts';
import { MONITOR_API_MEMBERS, naming, running } from './monitor-common.ts';
import { asciiName, hostAndPort, splitHostAndPort } from './texts.ts';
import { text } from './values.ts';

export const tcpMonitor = {
  kind: 'svc_tcp_monitor' as const,
  noun: 'monitor',
  path: '/v1/monitors',
  title: 'TCP monitor',
  description:
    'Opens a TCP connection and closes it. The check fails when no connection is established within the time-out.',
  constants: { type: 'tcp' as const },
  attributes: {
    ...naming,
    uri: required(
      text({ min: 1, max: LIMITS.target, check: hostAndPort, form: 'host:port' }),
      'Host name or IP address, and port. An IPv6 address stands in brackets.',
      { label: 'Host and port' },
    ),
    ...running,
  },
  blocks: {},
  rules: [],
  apiMembers: MONITOR_API_MEMBERS,
} satisfies ResourceDefinition;

export type TcpMonitor = Normalized<typeof tcpMonitor>;

export function tcpCheckOf({ uri }: TcpMonitor, attempts: Attempts): TcpCheck {
  return { type: 'tcp', uri: asciiHostAndPort(uri), ...attempts };
}

function asciiHostAndPort(uri: string): string {
  const parts = splitHostAndPort(uri);
  if (parts === null || parts.isBracketed) return uri;
  return `${asciiName(parts.host)}:${parts.port}`;
}
