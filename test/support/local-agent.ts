import { Agent } from '@svc/agent/app.ts';
import { createReferenceList } from '@svc/agent/network/reference-list.ts';
import { createDnsProbe } from '@svc/agent/probes/dns/probe.ts';
import { createHttpProbe } from '@svc/agent/probes/http/probe.ts';
import type { ProbeSet } from '@svc/agent/probes/registry.ts';
import { createTcpProbe } from '@svc/agent/probes/tcp/probe.ts';
import type { Resolver } from '@svc/agent/resolve/resolver.ts';
import { createSystemResolver } from '@svc/agent/resolve/system-resolver.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Bus } from '@svc/shared/nats/bus.ts';
import type { OwnExportSettings } from '@svc/shared/own-metrics/own-metrics-settings.ts';
import type { ProcessMemory } from '@svc/shared/process/process-memory.ts';
import type { Region } from '@svc/shared/regions.ts';

export type LocalAgentOptions = {
  /** Addresses of host names as each region sees them. */
  names?: (region: Region) => Readonly<Record<string, readonly string[]>>;
  dnsServers?: readonly string[];
  /** Whether agents ask the references that they find. Otherwise they suspect no failure of the network. */
  asksReferences?: boolean;
  /** Agents have a health address; see `Agent.healthPort`. */
  agentsListen?: boolean;
  /** How far the wall clock of a region's agent is off, ms. */
  agentClockOffset?: (region: Region) => number;
  /** Where coordinator and agents export their own metrics. */
  ownExport?: OwnExportSettings;
};

/**
 * Memory for services in one process. Each agent and each coordinator would collect the
 * memory of this process, which all services of a test file share, every second. That
 * would take half of the CPU time of such a test, so this memory is never collected.
 */
export const SHARED_MEMORY: ProcessMemory = { residentBytes: () => 0, collect: () => {} };

type LocalAgentParts = {
  readonly bus: Bus;
  /** URL of the server that `bus` is connected to. */
  readonly natsUrl: string;
  readonly clock: Clock;
  readonly log: Logger;
};

/** Makes an agent of a service in this process, with the probes of production. The agent is not started. */
export function localAgent(
  region: Region,
  options: LocalAgentOptions,
  { bus, natsUrl, clock, log }: LocalAgentParts,
): Agent {
  return new Agent({
    config: {
      region,
      agentId: undefined,
      concurrency: 1_000,
      listen: options.agentsListen === true ? { host: '127.0.0.1', port: 0 } : undefined,
      metricsToken: undefined,
      drainMs: 2_000,
    },
    bus,
    probeSet: probeSetOf(region, options),
    references:
      options.asksReferences === true
        ? createReferenceList({ hosts: undefined, dnsServers: undefined, natsUrl, bus })
        : undefined,
    ownExport: { settings: options.ownExport ?? null, ca: [] },
    memory: SHARED_MEMORY,
    clock: offsetClock(clock, options.agentClockOffset?.(region) ?? 0),
    log,
  });
}

function probeSetOf(
  region: Region,
  { names = () => ({}), dnsServers = ['127.0.0.1:9'] }: LocalAgentOptions,
): ProbeSet {
  const egress = createEgressGuard({ base: 'agent', deny: [], allow: [] });
  const resolver = regionalResolver(names(region));
  const probes = {
    http: createHttpProbe({ resolver, egress, userAgent: 'svc/test' }),
    tcp: createTcpProbe({ resolver, egress }),
    dns: createDnsProbe({ servers: dnsServers }),
  };
  return {
    probes,
    async close() {
      await Promise.all(Object.values(probes).map((probe) => probe.close()));
      await resolver.close();
    },
  };
}

/** Makes a clock with the same timers and durations, and another wall clock. */
function offsetClock(clock: Clock, offset: number): Clock {
  return {
    wall: () => clock.wall() + offset,
    monotonic: () => clock.monotonic(),
    after: (delayMs, task) => clock.after(delayMs, task),
    every: (intervalMs, task) => clock.every(intervalMs, task),
  };
}

/** Resolves the names that only this region knows, and otherwise the system's names. */
function regionalResolver(names: Readonly<Record<string, readonly string[]>>): Resolver {
  const system = createSystemResolver();
  return {
    resolve(host, ...rest) {
      const addresses = names[host];
      if (addresses === undefined) return system.resolve(host, ...rest);
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
    isSilentSince: (since) => system.isSilentSince(since),
    close: () => system.close(),
  };
}
