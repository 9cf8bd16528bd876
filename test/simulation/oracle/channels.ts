import type { MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import type { Announcement } from '../told.ts';

const NONE: ReadonlySet<number> = new Set();

type Told = 'active' | 'degraded' | 'error';

/**
 * "An alert is sent when the verdict differs from what was
 * last announced to that channel." A world has one instance.
 */
export class Channels {
  announcements = 0;
  /** The last status that was announced to each linked channel. A new link begins with `active`. */
  readonly #told = new Map<number, { kind: ChannelKind; told: Told }>();

  linked(channel: number, kind: ChannelKind): void {
    if (!this.#told.has(channel)) this.#told.set(channel, { kind, told: 'active' });
  }

  all(): Iterable<number> {
    return this.#told.keys();
  }

  /**
   * Records announcements. Returns the first fault in them; null: there is no fault.
   *
   * "Deleting, deactivating or unlinking during an incident
   * resolves it on incident kinds and sends others nothing."
   *
   * @param statuses the statuses that may be announced
   * @param ended the channels whose incident was ended by a change of the declaration in this evaluation
   * @param relinked the channels among `ended` that are linked
   *   again. After the end, they may be told the present status
   */
  announced(
    news: readonly Announcement[],
    statuses: ReadonlySet<MonitorStatus>,
    ended: ReadonlySet<number> = NONE,
    relinked: ReadonlySet<number> = NONE,
  ): string | null {
    const before = new Map([...this.#told].map(([channel, { told }]) => [channel, told]));
    for (const each of news) {
      this.announcements += 1;
      const fault = this.#faultOf(each, statuses, ended);
      if (fault !== null) return fault;
    }
    for (const channel of ended) {
      const known = this.#told.get(channel);
      if (known === undefined) continue;
      const own = news.filter((each) => each.channel === channel);
      if (relinked.has(channel) && own.at(-1)?.isClosure === false) {
        const isTold = before.get(channel) === 'active' || own.some(({ isClosure }) => isClosure);
        if (known.kind === 'incident_a' && !isTold)
          return `channel ${channel} (${known.kind}) was told anew, and not of the end of its incident`;
        continue;
      }
      if (known.kind === 'incident_a' && known.told !== 'active')
        return `channel ${channel} (${known.kind}) was not told of the end of its incident`;
      known.told = 'active';
    }
    return null;
  }

  /** Sets the kind of a channel. Null: the channel is not linked any more. */
  become(channel: number, kind: ChannelKind | null): void {
    const known = this.#told.get(channel);
    if (kind === null) this.#told.delete(channel);
    else if (known !== undefined) this.#told.set(channel, { ...known, kind });
  }

  #faultOf(
    { channel, status, isClosure }: Announcement,
    statuses: ReadonlySet<MonitorStatus>,
    ended: ReadonlySet<number>,
  ): string | null {
    const known = this.#told.get(channel);
    if (known === undefined) return `channel ${channel} is not linked and was told ${status}`;
    if (isClosure) {
      const isDue = ended.has(channel) && known.kind === 'incident_a' && known.told !== 'active';
      known.told = 'active';
      return isDue ? null : `channel ${channel} (${known.kind}) was told of an end that nobody made`;
    }
    const told: Told = status === 'recovered' ? 'active' : status;
    // Channels of other kinds are not told that the incident
    // was ended, so they may be told the same status again.
    if (known.told === told && !ended.has(channel)) return `channel ${channel} was told ${status} twice`;
    if (!statuses.has(told))
      return `channel ${channel} was told ${status} in status ${[...statuses].join(', ')}`;
    known.told = told;
    return null;
  }

  /**
   * Returns what a channel was not told, although all channels must know the status; null:
   * nothing is missing. "`unknown` is never announced and never clears an announcement."
   */
  missing(status: MonitorStatus): string | null {
    if (status === 'unknown') return null;
    for (const [channel, { told }] of this.#told) {
      if (told !== status) return `channel ${channel} was last told ${told}, the status is ${status}`;
    }
    return null;
  }
}
