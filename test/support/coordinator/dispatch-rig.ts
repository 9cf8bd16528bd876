import type { Clock } from '@svc/shared/clock.ts';
import type { Bus } from '@svc/shared/nats/bus.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { Dispatch, type DispatchParts } from '../../../packages/coordinator/src/checks/dispatch.ts';
import { JobTokens } from '../../../packages/coordinator/src/checks/job-tokens.ts';
import { newestOf } from '../../../packages/coordinator/src/checks/newest-slots.ts';
import { RegionPresence } from '../../../packages/coordinator/src/checks/region-presence.ts';
import { SlotClock } from '../../../packages/coordinator/src/checks/slot-clock.ts';
import type { Store } from '../../../packages/coordinator/src/store/store.ts';
import type { LiveMonitor } from '../../../packages/coordinator/src/verdict/monitor.ts';
import type { SlotRecovery } from '../../../packages/coordinator/src/verdict/slots.ts';
import type { Backlog } from '../../../packages/coordinator/src/verdict/thinning.ts';
import { FakeClock } from '../fake-clock.ts';
import { MemoryBus } from '../memory-bus.ts';
import { DeclaredMonitors, KeptSlots, log } from './dispatch-parts.ts';

/** Counts the reports of the end of a restart, in place of the recorder. */
class KeptRecovery implements SlotRecovery {
  resumedCount = 0;

  endResumption(): void {
    this.resumedCount += 1;
  }
}

export type RigOptions<B extends Bus, C extends Clock> = {
  store: Store;
  bus: B;
  clock: C;
  monitors?: readonly LiveMonitor[];
  newest?: Record<number, number>;
  /** Slots up to these are not about the present attributes, by monitor. */
  floors?: Record<number, number>;
  /** Newest slot, if a clock that was ahead has given it. */
  ahead?: number;
  /** The tokens of jobs; left out: real tokens. */
  tokens?: DispatchParts['tokens'];
};

/** Dispatch with the parts around it that tests examine. */
export class Rig<B extends Bus = MemoryBus, C extends Clock = FakeClock> {
  readonly bus: B;
  readonly clock: C;
  readonly store: Store;
  readonly monitors: DeclaredMonitors;
  readonly sink = new KeptSlots();
  readonly recovery = new KeptRecovery();
  readonly tokens = new JobTokens(new Secret(new Uint8Array(32).fill(7)));
  readonly presence: RegionPresence;
  readonly slotClock: SlotClock;
  readonly dispatch: Dispatch;
  isCaughtUp = true;
  /** Regions with unread results. */
  readonly behind = new Set<Region>();
  backlog: Backlog = { events: 0, oldestMs: 0 };

  constructor(options: RigOptions<B, C>) {
    const { store, bus, clock, monitors = [], newest = {}, floors = {}, ahead } = options;
    this.bus = bus;
    this.clock = clock;
    this.store = store;
    this.monitors = new DeclaredMonitors(monitors);
    const slots = new Map(Object.entries(newest).map(([id, slot]) => [Number(id), slot]));
    this.slotClock = new SlotClock(clock, newestOf(slots), log, ahead ?? null);
    this.presence = new RegionPresence({ store, clock, log, regions: REGIONS });
    this.dispatch = new Dispatch({
      shard: 0,
      bus,
      clock,
      log,
      monitors: this.monitors,
      events: this.sink,
      tokens: options.tokens ?? this.tokens,
      slotClock: this.slotClock,
      presence: this.presence,
      newestSlot: (id) => slots.get(id) ?? null,
      floorSlot: (id) => floors[id] ?? 0,
      readerCaughtUp: (region) => this.isCaughtUp && !this.behind.has(region),
      recovery: this.recovery,
      backlog: () => this.backlog,
    });
  }
}

/** A rig in memory, under a clock that stands still. */
export function memoryRig({
  at,
  ...options
}: Omit<RigOptions<MemoryBus, FakeClock>, 'bus' | 'clock'> & { /** Epoch ms. */ at?: number }): Rig {
  return new Rig({ ...options, bus: new MemoryBus(), clock: new FakeClock(at) });
}

/** Clears the records of dispatch. */
export async function forgetRegions(store: Store): Promise<void> {
  await store.commit([
    { sql: 'DELETE FROM region_presence', rows: [[]] },
    { sql: 'DELETE FROM region_absences', rows: [[]] },
  ]);
}
