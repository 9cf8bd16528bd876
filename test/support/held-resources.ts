import type { Clock } from '@svc/shared/clock.ts';
import type { Bus } from '@svc/shared/nats/bus.ts';

/** Numbers of timers and subscriptions that are held. */
export type Held = { timers: number; intervals: number; subscriptions: number; connectionListeners: number };

/** Counts the timers and subscriptions that a part holds. The clock and the connection work as usual. */
export class HeldResources {
  readonly #timers = new Set<object>();
  readonly #intervals = new Set<object>();
  readonly #subscriptions = new Set<object>();
  readonly #listeners = new Set<object>();

  get now(): Held {
    return {
      timers: this.#timers.size,
      intervals: this.#intervals.size,
      subscriptions: this.#subscriptions.size,
      connectionListeners: this.#listeners.size,
    };
  }

  clock(clock: Clock): Clock {
    return {
      wall: () => clock.wall(),
      monotonic: () => clock.monotonic(),
      after: (delayMs, task) => {
        const release = hold(this.#timers);
        const cancel = clock.after(delayMs, () => {
          release();
          task();
        });
        return () => {
          release();
          cancel();
        };
      },
      every: (intervalMs, task) => both(hold(this.#intervals), clock.every(intervalMs, task)),
    };
  }

  bus(bus: Bus): Bus {
    return {
      get isConnected() {
        return bus.isConnected;
      },
      publish: (...message) => bus.publish(...message),
      flush: () => bus.flush(),
      inbox: () => bus.inbox(),
      close: () => bus.close(),
      onConnection: (listener) => both(hold(this.#listeners), bus.onConnection(listener)),
      expectRegions: (count) => bus.expectRegions(count),
      removeOtherHeartbeats: (regions) => bus.removeOtherHeartbeats(regions),
      readHeartbeats: async (...parts) => {
        const reading = await bus.readHeartbeats(...parts);
        const release = hold(this.#subscriptions);
        return {
          ...reading,
          close: async () => {
            release();
            await reading.close();
          },
        };
      },
      subscribe: (...subject) => {
        const subscription = bus.subscribe(...subject);
        const release = hold(this.#subscriptions);
        return {
          close: both(release, () => subscription.close()),
          drain: () => {
            release();
            return subscription.drain();
          },
        };
      },
    };
  }
}

/** Adds an item to `held`. Returns a function that removes the item; it may be called twice. */
function hold(held: Set<object>): () => void {
  const one = {};
  held.add(one);
  return () => void held.delete(one);
}

function both(first: () => void, second: () => void): () => void {
  return () => {
    first();
    second();
  };
}
