import { System, type SystemOptions } from '../support/system.ts';
import { Children } from './children.ts';
import { CHECKED_FROM } from './declared-monitors.ts';
import { cpuMs, residentMiB } from './process-usage.ts';

export type RunningService = {
  readonly system: System;
  readonly target: { readonly pid: number; readonly port: number; send(message: 'down' | 'up'): void };
};

/** The parts whose CPU and memory benchmarks print. */
export type Parts<T> = { readonly coordinator: T; readonly agents: T; readonly nats: T };

/**
 * Starts a target and the whole service that checks it, each
 * part in a process of its own; calls `use`; then ends them.
 *
 * @param declare the declared file for a target at this port of the loopback address
 */
export async function withService<T>(
  declare: (port: number) => object,
  options: Omit<SystemOptions, 'regions' | 'declared'>,
  use: (service: RunningService) => Promise<T>,
): Promise<T> {
  const children = new Children();
  try {
    const target = await children.node('test/bench/target-process.ts');
    const port = Number(target.line);
    const system = await System.start({ regions: CHECKED_FROM, declared: declare(port), ...options });
    try {
      return await use({ system, target: { pid: target.pid, port, send: target.send } });
    } finally {
      // The processes end in order and keep their compile cache, so
      // that the next run is not measured with Node's type stripper.
      await system.stop();
      await system.dispose();
    }
  } finally {
    await children.endAll();
  }
}

/** CPU time that each part has used so far, ms. The value for agents is their sum. */
export function cpuOf(system: System): Parts<number> {
  const agents = agentPids(system).reduce((sum, pid) => sum + cpuMs(pid), 0);
  return { coordinator: cpuMs(system.coordinator.pid), agents, nats: cpuMs(system.nats.pid) };
}

/** Resident memory of each part, MiB. The value for agents is that of the largest agent. */
export function memoryOf(system: System): Parts<number> {
  const agents = Math.max(...agentPids(system).map(residentMiB));
  return { coordinator: residentMiB(system.coordinator.pid), agents, nats: residentMiB(system.nats.pid) };
}

/**
 * Measures the coordinator's memory ten times a second. `end` stops this and returns the largest value, MiB.
 */
export function watchCoordinatorMemory(system: System): { end(): number } {
  let peakMiB = 0;
  const timer = setInterval(() => {
    peakMiB = Math.max(peakMiB, memoryOf(system).coordinator);
  }, 100);
  return {
    end: () => {
      clearInterval(timer);
      return peakMiB;
    },
  };
}

/** Returns the result of `of` for each part. */
export function eachPart<T>(of: (part: keyof Parts<unknown>) => T): Parts<T> {
  return { coordinator: of('coordinator'), agents: of('agents'), nats: of('nats') };
}

function agentPids(system: System): number[] {
  return [...system.agents.values()].map((agent) => agent.pid);
}
