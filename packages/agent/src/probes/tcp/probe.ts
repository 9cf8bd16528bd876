import type { EgressGuard } from '@svc/shared/egress.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import type { TcpCheck } from '@svc/shared/messages/check.ts';
import type { Phases } from '@svc/shared/messages/check-result.ts';
import type { Resolver } from '../../resolve/resolver.ts';
import { type DialResult, dial } from '../dial.ts';
import type { Probe, ProbeContext, ProbeOutcome } from '../probe.ts';
import { parseHostPort } from './host-port.ts';

export type TcpProbeOptions = { resolver: Resolver; egress: EgressGuard };

/**
 * TCP: passed when a connection is established within the time-out; it is closed again at once and
 * nothing is sent or read. Latency runs from the start to the connection, name look-up included.
 */
export function createTcpProbe(options: TcpProbeOptions): Probe<TcpCheck> {
  return {
    run: (check, context) => run(check, context, options),
    close: async () => {},
  };
}

async function run(
  check: TcpCheck,
  { timeoutMs, signal }: ProbeContext,
  { resolver, egress }: TcpProbeOptions,
): Promise<ProbeOutcome> {
  const target = parseHostPort(check.uri);
  if (target === null) {
    // Declared targets were validated; this is a coordinator of another version.
    const errorMessage = `not a host:port target: ${check.uri}`.slice(0, LIMITS.errorMessage);
    return { outcome: 'not_run', reason: 'unsupported', latency: 0, phases: {}, errorMessage };
  }
  const startedAt = performance.now();
  const result = await dial(target.host, target.port, { resolver, egress, timeoutMs, signal });
  // An orderly close (FIN), not a reset: many services log a reset of every probe as an error.
  if (result.kind === 'connected') result.socket.destroy();
  return outcomeOf(result, performance.now() - startedAt);
}

function outcomeOf(result: DialResult, elapsedMs: number): ProbeOutcome {
  const phases: Phases = {};
  if (result.dnsMs !== undefined) phases.dns = result.dnsMs;
  if (result.connectMs !== undefined) phases.connect = result.connectMs;
  const common = { latency: (result.dnsMs ?? 0) + (result.connectMs ?? 0) || elapsedMs, phases };
  switch (result.kind) {
    case 'connected':
      return { outcome: 'passed', ...common };
    case 'failed': {
      const failed: ProbeOutcome = { outcome: 'failed', ...common, errorMessage: bounded(result.message) };
      return result.timedOut ? { ...failed, timedOut: true } : failed;
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
        reason: 'internal-error',
        ...common,
        errorMessage: bounded(result.message),
      };
    case 'aborted':
      return { outcome: 'not_run', reason: 'shutting-down', ...common };
    default:
      return result satisfies never;
  }
}

const bounded = (message: string): string => message.slice(0, LIMITS.errorMessage);
