import { appendTo } from '@svc/shared/collections.ts';
import { isDuring, type WindowTimes } from './maintenance-window.ts';

/** A maintenance window as the evaluation needs it. */
export type LiveWindow = {
  readonly id: number;
  /** Monitors whose alerts it holds. */
  readonly monitorIds: readonly number[];
  readonly times: WindowTimes;
};

const NONE: readonly never[] = [];

/** All maintenance windows that may hold alerts now or later. It is a value: a change makes another one. */
export class Windows {
  static readonly NONE = new Windows(new Map(), new Map());

  readonly #byId: ReadonlyMap<number, LiveWindow>;
  readonly #byMonitor: ReadonlyMap<number, readonly LiveWindow[]>;

  private constructor(
    byId: ReadonlyMap<number, LiveWindow>,
    byMonitor: ReadonlyMap<number, readonly LiveWindow[]>,
  ) {
    this.#byId = byId;
    this.#byMonitor = byMonitor;
  }

  /** These windows, each with an id of its own. {@link with} would copy all of them for each one. */
  static of(windows: Iterable<LiveWindow>): Windows {
    const byId = new Map<number, LiveWindow>();
    const byMonitor = new Map<number, LiveWindow[]>();
    for (const window of windows) {
      byId.set(window.id, window);
      for (const monitorId of window.monitorIds) appendTo(byMonitor, monitorId, window);
    }
    return new Windows(byId, byMonitor);
  }

  get(id: number): LiveWindow | undefined {
    return this.#byId.get(id);
  }

  values(): Iterable<LiveWindow> {
    return this.#byId.values();
  }

  /** These windows and another one, in place of the one with its id. Null: without that one. */
  with(id: number, window: LiveWindow | null): Windows {
    const byId = new Map(this.#byId);
    const byMonitor = new Map(this.#byMonitor);
    for (const monitorId of byId.get(id)?.monitorIds ?? NONE) {
      const others = (byMonitor.get(monitorId) ?? NONE).filter((other) => other.id !== id);
      if (others.length === 0) byMonitor.delete(monitorId);
      else byMonitor.set(monitorId, others);
    }
    byId.delete(id);
    if (window === null) return new Windows(byId, byMonitor);
    byId.set(id, window);
    for (const monitorId of window.monitorIds)
      byMonitor.set(monitorId, [...(byMonitor.get(monitorId) ?? NONE), window]);
    return new Windows(byId, byMonitor);
  }

  /** Whether an occurrence of a window of the monitor covers the instant, epoch ms on the slots' clock. */
  cover(monitorId: number, instant: number): boolean {
    return (this.#byMonitor.get(monitorId) ?? NONE).some(({ times }) => isDuring(times, instant));
  }
}
