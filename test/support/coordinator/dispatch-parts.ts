import { createLogger } from '@svc/shared/log.ts';
import { type CheckJob, checkJob, type JobBatch, jobBatch } from '@svc/shared/messages/check-job.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Heartbeat } from '@svc/shared/messages/heartbeat.ts';
import { AGENT_QUEUE, heartbeatSubject, jobsSubject } from '@svc/shared/messages/subjects.ts';
import type { Bus, BusSubscription } from '@svc/shared/nats/bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import type { LiveMonitor, LiveMonitors } from '../../../packages/coordinator/src/verdict/monitor.ts';
import type { SlotEvents } from '../../../packages/coordinator/src/verdict/slots.ts';

export const log = createLogger('test', 'silent');

export const FRA: Region = 'hosta-fra';
export const PAR: Region = 'hostb-par';
export const EAST: Region = 'hostc-us-east4';

const CHECK = {
  type: 'tcp',
  uri: '127.0.0.1:9',
  timeout: 1_000,
  retry: 0,
  degraded_at: 0,
} as const;

export function liveMonitor(id: number, changes: Partial<LiveMonitor> = {}): LiveMonitor {
  return {
    id,
    workspaceId: 1,
    type: 'tcp',
    name: `Monitor ${id}`,
    target: CHECK.uri,
    active: true,
    periodMs: 30_000,
    regions: [FRA],
    version: 1,
    quorum: 'majority',
    confirmAfter: 1,
    recoverAfter: 1,
    degradedAtMs: 0,
    longestCheckMs: 1_000,
    activatedAt: 0,
    checkText: new Secret(JSON.stringify(CHECK)),
    declaredExport: null,
    ...changes,
  };
}

/** Monitors that a test declares and changes. */
export class DeclaredMonitors implements LiveMonitors {
  readonly #monitors = new Map<number, LiveMonitor>();
  readonly #listeners = new Set<(before: LiveMonitor | null, after: LiveMonitor | null) => void>();

  constructor(monitors: Iterable<LiveMonitor> = []) {
    for (const monitor of monitors) this.#monitors.set(monitor.id, monitor);
  }

  get size(): number {
    return this.#monitors.size;
  }

  get(id: number): LiveMonitor | undefined {
    return this.#monitors.get(id);
  }

  values(): Iterable<LiveMonitor> {
    return this.#monitors.values();
  }

  onChange(listener: (before: LiveMonitor | null, after: LiveMonitor | null) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  set(monitor: LiveMonitor): void {
    const before = this.#monitors.get(monitor.id) ?? null;
    this.#monitors.set(monitor.id, monitor);
    for (const listener of this.#listeners) listener(before, monitor);
  }

  delete(id: number): void {
    const before = this.#monitors.get(id) ?? null;
    this.#monitors.delete(id);
    for (const listener of this.#listeners) listener(before, null);
  }
}

/** Records the events that dispatch reports to the evaluation. */
export class KeptSlots implements SlotEvents {
  readonly opens: { id: number; slot: number; regions: readonly Region[] }[] = [];
  readonly abstentions: { id: number; slot: number; region: Region; reason: NotRunReason }[] = [];
  readonly skips: { id: number; slot: number; region: Region }[] = [];
  readonly leftOuts: { id: number; slot: number; regions: readonly Region[] }[] = [];

  opened({ id }: LiveMonitor, slot: number, regions: readonly Region[]): void {
    this.opens.push({ id, slot, regions: [...regions] });
  }

  abstained({ id }: LiveMonitor, slot: number, region: Region, reason: NotRunReason): void {
    this.abstentions.push({ id, slot, region, reason });
  }

  skipped({ id }: LiveMonitor, slot: number, region: Region): void {
    this.skips.push({ id, slot, region });
  }

  leftOut({ id }: LiveMonitor, slot: number, regions: readonly Region[]): void {
    this.leftOuts.push({ id, slot, regions: [...regions] });
  }
}

/** An agent from the coordinator's point of view. The test decides everything that it does. */
export class TestAgent {
  readonly id: string;
  readonly region: Region;
  /** Random id of the process of the agent. */
  readonly boot: string;
  readonly #bus: Bus;
  readonly #subscription: BusSubscription;
  /** Every job that was sent to the agent. */
  readonly offers: CheckJob[] = [];
  /** Every batch of jobs that was sent to the agent. */
  readonly batches: JobBatch[] = [];
  held: [monitor: number, slot: number][] = [];
  /** Number of jobs that were sent to the agent. */
  offered = 0;
  /**
   * Whether {@link offers} and {@link batches} are kept, and every job is validated. Otherwise only the first
   * job of each batch is validated.
   */
  remembers = true;
  /** Whether the agent takes jobs; false: jobs are lost. */
  takes = true;
  isDraining = false;
  capacity = 100;
  /** Time after its slot within which the first job of the newest message must begin, ms. */
  startWithinMs = Number.POSITIVE_INFINITY;
  /** Time after its slot within which the newest job of each monitor must begin, ms. */
  readonly startWithinMsOf = new Map<number, number>();
  /** The load that the agent reports about the checks that it began. */
  load: Pick<Heartbeat, 'begun' | 'late' | 'behind'> = {};
  onOffer: () => void = () => {};

  constructor(bus: Bus, region: Region, id = `agent-${region}`) {
    this.id = id;
    this.boot = `boot-${id}`;
    this.region = region;
    this.#bus = bus;
    this.#subscription = bus.subscribe(jobsSubject(region), ({ data }) => this.#take(data), {
      queue: AGENT_QUEUE,
    });
  }

  beat(): void {
    const heartbeat: Heartbeat = {
      v: 1,
      kind: 'heartbeat',
      agent: this.id,
      boot: this.boot,
      version: '1.2.3',
      capacity: this.capacity,
      running: 0,
      held: this.held.length,
      ...this.load,
      loop_delay_ms: 0,
      clock: 0,
      started_at: 0,
      draining: this.isDraining,
    };
    this.#bus.publish(heartbeatSubject(this.region, this.boot), JSON.stringify(heartbeat));
  }

  close(): void {
    this.#subscription.close();
  }

  #take(data: Uint8Array): void {
    const message: unknown = JSON.parse(Buffer.from(data).toString());
    const batch = jobBatch.safeParse(message);
    if (!batch.success) return;
    const offered = batch.data.jobs;
    this.offered += offered.length;
    this.startWithinMs = checkJob.parse(offered[0]).start_within_ms;
    const jobs = this.remembers ? offered.map((job) => checkJob.parse(job)) : (offered as CheckJob[]);
    for (const { monitor, start_within_ms } of jobs) this.startWithinMsOf.set(monitor, start_within_ms);
    if (this.remembers) {
      this.batches.push(batch.data);
      this.offers.push(...jobs);
    }
    if (this.takes) this.held.push(...jobs.map(({ monitor, slot }): [number, number] => [monitor, slot]));
    this.onOffer();
  }
}
