import type { MonitorStatus } from '@svc/coordinator/domain/monitor.ts';
import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import type { Announcement } from '../told.ts';

type Told = 'active' | 'degraded' | 'error';

/**
 * "An alert is sent when the verdict differs from what was last announced to that channel." A world has one instance.
 */
export class Channels {
  announcements = 0;
  /** The last announcement to each linked channel; `active` is announced at birth. */
  readonly #told = new Map<number, { kind: ChannelKind; told: Told }>();

  linked(channel: number, kind: ChannelKind): void {
    if (!this.#told.has(channel)) this.#told.set(channel, { kind, told: 'active' });
  }

  /** "Deleting, deactivating or unlinking during an incident resolves it on incident kinds and sends others nothing." */
  unlinked(channel: number, news: readonly Announcement[]): string | null {
    const known = this.#told.get(channel);
    this.#told.delete(channel);
    return known === undefined ? null : closureFault(channel, known, news);
  }

  /** The monitor was deactivated or deleted. */
  ended(news: readonly Announcement[]): string | null {
    let fault: string | null = null;
    for (const [channel, known] of this.#told) {
      fault ??= closureFault(channel, known, news);
      known.told = 'active';
    }
    return fault;
  }

  /** Records announcements. Answers the first fault in them, given these statuses; null: none. */
  announced(news: readonly Announcement[], statuses: ReadonlySet<MonitorStatus>): string | null {
    for (const { channel, status, isClosure } of news) {
      this.announcements += 1;
      if (isClosure) continue;
      const told: Told = status === 'recovered' ? 'active' : status;
      const known = this.#told.get(channel);
      if (known === undefined) return `channel ${channel} is not linked and was told ${status}`;
      if (known.told === told) return `channel ${channel} was told ${status} twice`;
      if (!statuses.has(told))
        return `channel ${channel} was told ${status} in status ${[...statuses].join(', ')}`;
      known.told = told;
    }
    return null;
  }

  /** "`unknown` is never announced and never clears an announcement"; every other status is known to all channels. */
  missing(status: MonitorStatus): string | null {
    if (status === 'unknown') return null;
    for (const [channel, { told }] of this.#told) {
      if (told !== status) return `channel ${channel} was last told ${told}, the status is ${status}`;
    }
    return null;
  }
}

function closureFault(
  channel: number,
  { kind, told }: { kind: ChannelKind; told: Told },
  news: readonly Announcement[],
): string | null {
  const closures = news.filter((each) => each.channel === channel && each.isClosure).length;
  const due = kind === 'incident_a' && told !== 'active' ? 1 : 0;
  return closures === due
    ? null
    : `channel ${channel} (${kind}) was told of ${closures} ends of its incident, not ${due}`;
}
