import { muteIdOf } from '@svc/coordinator/store/incidents/mutes.ts';
import type { DeclaredChange, RemovedMonitor } from '@svc/coordinator/verdict/declared-effects.ts';
import type { LiveWindow } from '@svc/coordinator/verdict/maintenance-window.ts';
import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import type { Link } from '@svc/coordinator/verdict/state.ts';
import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import { mutedUntil, timesOf, windowOf } from './moves.ts';
import type { WorldStore } from './store.ts';
import type { Told, Window } from './told.ts';
import type { Move } from './world.ts';

/** An entry of the log of changes, as it was written together with the rows. */
type Entry =
  | { readonly kind: 'monitor'; readonly removed: RemovedMonitor | null }
  | {
      readonly kind: 'linked';
      readonly channel: number;
      readonly provider: ChannelKind;
      readonly version: number;
    }
  | { readonly kind: 'unlinked'; readonly channel: number; readonly link: Link | null }
  | { readonly kind: 'maintenance'; readonly window: number };

/** The log entries whose effects are not durable yet, and the monitor up to which effects are durable. */
export type Logged = {
  readonly log: readonly { readonly id: number; readonly entry: Entry }[];
  readonly applied: LiveMonitor | null;
};

/** Changes that are applied together. */
export type DeclaredStep = {
  readonly changes: readonly DeclaredChange[];
  /** Id of the last of these changes in the log. */
  readonly until: number;
  /** The inputs that the oracle gets for these changes. */
  readonly told: readonly Told[];
};

/**
 * The declaration: its rows, which change at once, and the log of the
 * changes whose effects are not durable. Both outlive the coordinator.
 */
export class Declared {
  /** The monitor's row. */
  monitor: LiveMonitor | null = null;
  /** The rows of the maintenance windows, and of the mute, which has a number of its own. */
  readonly windows = new Map<number, Window>();
  readonly #id: number;
  readonly #store: WorldStore;
  #log: { readonly id: number; readonly entry: Entry }[] = [];
  #lastId = 0;
  /** Number of links that were created so far. */
  #links = 0;
  /**
   * The monitor as it is after the effects that are durable.
   * `applying`: the monitor after the step that is being applied.
   */
  #applied: LiveMonitor | null = null;
  #applying: LiveMonitor | null = null;

  constructor(monitorId: number, store: WorldStore) {
    this.#id = monitorId;
    this.#store = store;
  }

  get hasEffects(): boolean {
    return this.#log.length > 0;
  }

  async declare(monitor: LiveMonitor | null): Promise<void> {
    const before = this.monitor;
    this.monitor = monitor;
    if (monitor !== null) {
      await this.#store.declare(monitor);
      this.#note({ kind: 'monitor', removed: null });
    } else if (before !== null) {
      const remains = await this.#store.remove(this.#id);
      this.#note({ kind: 'monitor', removed: { ...before, ...remains } });
    }
  }

  async link(channel: number, provider: ChannelKind): Promise<void> {
    if (this.monitor === null) return;
    this.#links += 1;
    const version = this.#links;
    await this.#store.link(this.#id, channel, provider, version);
    this.#note({ kind: 'linked', channel, provider, version });
  }

  async unlink(channel: number): Promise<void> {
    if (this.monitor === null) return;
    const link = await this.#store.unlink(this.#id, channel);
    if (link !== null) this.#note({ kind: 'unlinked', channel, link });
  }

  async setWindow(number: number, window: Window | null): Promise<void> {
    if (this.monitor === null) return;
    if (window === null) this.windows.delete(number);
    else this.windows.set(number, window);
    await this.#store.setWindow(number, this.#liveWindow(number));
    this.#note({ kind: 'maintenance', window: number });
  }

  /** Makes a change of people that is not a change of the monitor itself. */
  async change(
    move: Move & { do: 'link' | 'unlink' | 'set-window' | 'remove-window' | 'mute' | 'unmute' },
  ): Promise<void> {
    switch (move.do) {
      case 'link':
        return this.link(move.channel, move.kind);
      case 'unlink':
        return this.unlink(move.channel);
      case 'set-window':
        return this.setWindow(move.window, windowOf(move));
      case 'remove-window':
        return this.setWindow(move.window, null);
      case 'mute':
        return this.setWindow(muteIdOf(this.#id), mutedUntil(move));
      case 'unmute':
        return this.setWindow(muteIdOf(this.#id), null);
    }
  }

  /** Returns the next step, which applies the whole log. */
  nextStep(): DeclaredStep {
    const changes: DeclaredChange[] = [];
    const told: Told[] = [];
    this.#applying = this.#applied;
    let isSeen = false;
    for (const { entry } of this.#log) {
      // "Of several changes of one monitor only the last is seen", in the place of the first one.
      if (entry.kind === 'monitor' && isSeen) continue;
      isSeen ||= entry.kind === 'monitor';
      this.#add(entry, changes, told);
    }
    return { changes, told, until: this.#log.at(-1)?.id ?? 0 };
  }

  /** The log, for a database that is set back without losing rows. */
  get logged(): Logged {
    return { log: [...this.#log], applied: this.#applied };
  }

  setBack({ log, applied }: Logged): void {
    this.#log = [...log];
    this.#applied = applied;
  }

  /** Notes that the effects of the log up to `until` are durable. */
  applied(until: number): void {
    this.#log = this.#log.filter(({ id }) => id > until);
    this.#applied = this.#applying;
  }

  #add(entry: Entry, changes: DeclaredChange[], told: Told[]): void {
    const monitorId = this.#id;
    switch (entry.kind) {
      case 'monitor': {
        const { monitor } = this;
        changes.push({ kind: 'monitor', monitorId, monitor, removed: this.#removed() });
        told.push({ is: 'declared', before: this.#applying, after: monitor });
        this.#applying = monitor;
        return;
      }
      case 'linked': {
        const { channel, provider, version } = entry;
        changes.push({ kind: 'linked', monitorId, notificationId: channel, providerType: provider, version });
        told.push({ is: 'linked', channel, kind: provider });
        return;
      }
      case 'unlinked': {
        const { channel, link } = entry;
        changes.push({ kind: 'unlinked', monitorId, notificationId: channel, link });
        told.push({ is: 'unlinked', channel });
        return;
      }
      case 'maintenance': {
        const { window } = entry;
        changes.push({ kind: 'maintenance', windowId: window, window: this.#liveWindow(window) });
        told.push({ is: 'window', number: window, window: this.windows.get(window) ?? null });
        return;
      }
    }
  }

  #removed(): RemovedMonitor | null {
    for (const { entry } of this.#log)
      if (entry.kind === 'monitor' && entry.removed !== null) return entry.removed;
    return null;
  }

  #liveWindow(number: number): LiveWindow | null {
    const window = this.windows.get(number);
    return window === undefined ? null : { id: number, monitorIds: [this.#id], times: timesOf(window) };
  }

  #note(entry: Entry): void {
    this.#lastId += 1;
    this.#log.push({ id: this.#lastId, entry });
  }
}
