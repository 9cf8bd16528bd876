import { isCode } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Bus } from '@svc/shared/nats/bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Agents } from './agents.ts';
import type { HeartbeatReaders } from './heartbeat-readers.ts';

export type SilenceJudgeParts = {
  readonly bus: Pick<Bus, 'isConnected' | 'flush'>;
  readonly log: Logger;
  readonly readers: Pick<HeartbeatReaders, 'isRead'>;
  readonly agents: Agents;
  /** Aborts when dispatch stops: no verdict is made any more. */
  readonly signal: AbortSignal;
};

/**
 * Decides from silence that an agent is gone. It judges only messages that did not come, so it waits until all messages that
 * have arrived are handled.
 */
export class SilenceJudge {
  readonly #parts: SilenceJudgeParts;
  /** Monotonic instant before which silence means nothing, ms. */
  #from = 0;
  /** Regions for which a check is under way whether all arrived messages are handled. */
  readonly #judging = new Set<Region>();

  constructor(parts: SilenceJudgeParts) {
    this.#parts = parts;
  }

  /**
   * Judges no silence before `from`, because this process stood still or was not connected.
   *
   * @param from monotonic instant, ms; an earlier one than before changes nothing
   */
  waitUntil(from: number): void {
    this.#from = Math.max(this.#from, from);
  }

  /** Whether silence means something at `now` (monotonic, ms). */
  canJudge(now: number): boolean {
    return now >= this.#from && this.#parts.bus.isConnected;
  }

  /**
   * Judges the silence of each region with an agent that is overdue. Call it in every tick.
   *
   * @param asOf monotonic instant, ms
   */
  judge(asOf: number): void {
    const { bus, agents } = this.#parts;
    if (!this.canJudge(asOf)) return;
    const concerned = [...new Set(agents.silentRegions(asOf))].filter((region) => !this.#judging.has(region));
    if (concerned.length === 0) return;
    const flushed = bus.flush();
    for (const region of concerned) void this.#judgeRegion(region, asOf, flushed);
  }

  /** The round trip comes before the verdict: afterwards every message that was sent in time is handled. */
  async #judgeRegion(region: Region, asOf: number, flushed: Promise<void>): Promise<void> {
    const { bus, log, readers, agents, signal } = this.#parts;
    this.#judging.add(region);
    try {
      await flushed;
      if (!readers.isRead(region) || signal.aborted || asOf < this.#from) return;
      agents.judge(region, asOf);
    } catch (error) {
      // The bus itself says that it is lost, somewhat later.
      if (bus.isConnected && !isCode(error, 'bus-disconnected'))
        log.error({ error, region }, 'cannot judge the silence of a region');
    } finally {
      this.#judging.delete(region);
    }
  }
}
