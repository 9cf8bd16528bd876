import type { EgressGuard } from '@svc/shared/egress.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import type { TcpCheck } from '@svc/shared/messages/check.ts';
import type { Phases } from '@svc/shared/messages/check-result.ts';
import type { Resolver } from '../../resolve/resolver.ts';
import { type DialResult, dial } from '../dial.ts';
import type { Probe, ProbeContext, ProbeOutcome } from '../probe.ts';
import { parseHostPort } from './host-port.ts';

export type TcpProbeParts = { resolver: Resolver; egress: EgressGuard };

/**
 * Creates the TCP probe. An attempt passes when a connection is established within the
 * time-out. The probe then closes the connection at once, and neither sends nor reads anything.
 * Latency runs from the start to the connection, and includes the look-up of the name.
 */
export function createTcpProbe(parts: TcpProbeParts): Probe<TcpCheck> {
  return {
    run: (check, context) => run(check, context, parts),
    close: async () => {},
  };
}

async function run(
  check: TcpCheck,
  { timeoutMs, signal }: ProbeContext,
  { resolver, egress }: TcpProbeParts,
): Promise<ProbeOutcome> {
  const target = parseHostPort(check.uri);
  if (target === null) {
    // Declared targets are validated, so an unreadable target is rare. It is
    // reported as a failure, because the owner of the monitor sees failures.
    return {
      outcome: 'failed',
      latency: 0,
      phases: {},
      errorMessage: bounded(`not a host:port target: ${check.uri}`),
    };
  }
  const result = await dial(target.host, target.port, { resolver, egress, timeoutMs, signal });
  // `destroy` sends FIN and not a reset, because many services log every reset as an error.
  if (result.kind === 'connected') result.socket.destroy();
  return outcomeOf(result);
}

function outcomeOf(result: DialResult): ProbeOutcome {
  const phases: Phases = {};
  if (result.dnsMs !== undefined) phases.dns = result.dnsMs;
  if (result.connectMs !== undefined) phases.connect = result.connectMs;
  const common = { latency: (result.dnsMs ?? 0) + (result.connectMs ?? 0), phases };
  switch (result.kind) {
    case 'connected':
      return { outcome: 'passed', ...common, addresses: [result.address] };
    case 'failed': {
      const failed: ProbeOutcome = { outcome: 'failed', ...common, errorMessage: bounded(result.message) };
      if (result.addresses !== undefined) failed.addresses = result.addresses;
      if (result.timedOut) return { ...failed, timedOut: true };
      const isCut = result.connectMs !== undefined || result.code === 'ESERVFAIL';
      return isCut ? { ...failed, notConnected: true } : failed;
    }
    case 'denied':
      return {
        outcome: 'not_run',
        reason: 'egress-denied',
        ...common,
        errorMessage: bounded(result.message),
      };
    case 'unable':
      return {
        outcome: 'not_run',
        reason: result.reason,
        ...common,
        errorMessage: bounded(result.message),
        ...(result.addresses === undefined ? {} : { addresses: result.addresses }),
      };
    case 'aborted':
      return { outcome: 'not_run', reason: 'shutting-down', ...common };
    default:
      return result satisfies never;
  }
}

const bounded = (message: string): string => message.slice(0, LIMITS.errorMessage);
