import { ALL_HEARTBEATS, ALL_JOBS, ALL_RESULTS, regionOfSubject } from '@svc/shared/messages/subjects.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats/nats-bus.ts';
import { pino } from 'pino';
import type { System } from '../support/system.ts';

/** The longest silences between jobs and between heartbeats, ms. */
export type Silences = { readonly jobs: number; readonly heartbeats: number };

/**
 * Listens to the messages on NATS. It measures gaps between jobs and between heartbeats, and collects the
 * reports of agents.
 */
export class Overheard {
  readonly #bus: NatsBus;
  readonly #jobs = new Silence();
  readonly #heartbeats = new Silence();
  /** Reported checks by `monitor/slot`, once per region; the value is the slot. */
  readonly #reported = new Map<string, number>();

  private constructor(bus: NatsBus) {
    this.#bus = bus;
    bus.subscribe(ALL_JOBS, () => this.#jobs.broken());
    bus.subscribe(ALL_HEARTBEATS, () => this.#heartbeats.broken());
    bus.subscribe(ALL_RESULTS, ({ subject, data }) => {
      const batch = JSON.parse(Buffer.from(data).toString()) as {
        results: { monitor: number; slot: number }[];
      };
      const region = regionOfSubject(subject);
      for (const { monitor, slot } of batch.results) this.#reported.set(`${monitor}/${slot}/${region}`, slot);
    });
  }

  static async on(natsUrl: string): Promise<Overheard> {
    return new Overheard(await connectBus({ url: natsUrl, name: 'bench', log: pino({ level: 'silent' }) }));
  }

  /** Returns the longest silences since the last call. */
  takeSilences(): Silences {
    return { jobs: this.#jobs.take(), heartbeats: this.#heartbeats.take() };
  }

  /** Number of checks that were reported, for slots from `from` to before `until` (epoch ms). */
  reported(from: number, until: number): number {
    let reported = 0;
    for (const slot of this.#reported.values()) if (slot >= from && slot < until) reported += 1;
    return reported;
  }

  /**
   * Number of checks that were reported and have no row, for slots from `from` to before `until` (epoch ms).
   */
  async lost(system: Pick<System, 'query'>, from: number, until: number): Promise<number> {
    const rows = await system.query<{ monitor: number; slot: number; region: string }>(
      'SELECT monitor_id AS monitor, slot, region FROM results WHERE slot >= ? AND slot < ?',
      from,
      until,
    );
    const recorded = new Set(rows.map(({ monitor, slot, region }) => `${monitor}/${slot}/${region}`));
    let lost = 0;
    for (const [check, slot] of this.#reported) {
      if (slot >= from && slot < until && !recorded.has(check)) lost += 1;
    }
    return lost;
  }

  close(): Promise<void> {
    return this.#bus.close();
  }
}

class Silence {
  #since = performance.now();
  #longest = 0;

  broken(): void {
    const now = performance.now();
    this.#longest = Math.max(this.#longest, now - this.#since);
    this.#since = now;
  }

  take(): number {
    this.broken();
    const longest = this.#longest;
    this.#longest = 0;
    return longest;
  }
}
