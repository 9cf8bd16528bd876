import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { QUEUED_HINT } from '@svc/shared/messages/subjects.ts';
import type { Deliverer } from '../alerts/deliverer.ts';
import { logTransitions } from '../checks/transition-log.ts';
import type { ChangeApplier } from '../declaration/change-applier.ts';
import type { DeclaredFile } from '../declaration/yaml/declared-file.ts';
import {
  buildLeadership,
  createDeclaredFile,
  type InstallationParts,
  type LeadershipParts,
  type ShardData,
} from './build-leadership.ts';
import { type LeaderServices, leaderServices } from './leader-services.ts';
import { StartedParts } from './started-parts.ts';

/** Interval at which a leader reads what other coordinators have changed and queued, ms. */
const FOLLOW_EVERY_MS = 500;

/** The leadership was stopped before its start had ended. */
export class LeadershipEnded extends SvcError {
  constructor() {
    super('term-ended', 'leading was stopped while it was starting');
  }
}

/**
 * One period of leading, from its start to its stop. An ended leadership cannot be started again.
 *
 *     new ── start ──▶ loading ──▶ leading ── stop ──▶ ended
 *                         └──── stop, or a failure ─────▲
 *
 * The order of the start and the order of the stop matter. At the start, the states
 * are loaded before anything can change them, and jobs are given out only after
 * results are read, agents are heard and logged changes are applied. At the stop
 * the order is reversed: no new slots, then no more results, then no more alerts.
 * The declared file is applied last, because checks must not wait until a large file is read.
 */
export class Leadership {
  readonly #parts: LeadershipParts;
  readonly #started: StartedParts;
  #starting: Promise<unknown> = Promise.resolve();
  #stopping: Promise<void> | null = null;
  #applier: ChangeApplier | null = null;
  #declaredFile: DeclaredFile | null = null;
  #services: LeaderServices | null = null;
  #isLeading = false;
  #isSearching = false;
  #isSearchDue = false;

  constructor(parts: LeadershipParts) {
    this.#parts = parts;
    this.#started = new StartedParts(parts.log);
  }

  /** The services that the API uses; null: the states are not loaded yet. */
  get services(): LeaderServices | null {
    return this.#services;
  }

  /** Whether the leadership has started and is not being stopped. */
  get isLeading(): boolean {
    return this.#isLeading;
  }

  /**
   * Resolves when jobs are given out, results are read and the declaration is applied.
   *
   * @param data what was read of the shard ahead; without them, everything is read now
   * @throws StoreError, DeclarationError (an invalid declared file at
   *   the first start), LeadershipEnded. After an error nothing runs
   */
  async start(data: ShardData | null = null): Promise<void> {
    const starting = this.#start(data);
    this.#starting = starting;
    try {
      await starting;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /**
   * Stops the leadership. If the method is called during the start, the start fails. The method waits for
   * the unfinished writes of the parts. A database that cannot accept writes refuses each write after 5 s.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /**
   * Resolves when the log of changes is applied up to this change,
   * when it cannot be applied now, or when the leadership is stopped.
   */
  async applyUntil(lastChangeId: number): Promise<void> {
    await this.#applier?.applyUntil(lastChangeId);
  }

  /** Reads and applies the declared file again, if this leadership has one. */
  async reload(): Promise<void> {
    await this.#declaredFile?.reload();
  }

  async #start(data: ShardData | null): Promise<void> {
    const parts = await buildLeadership(this.#parts, data);
    const {
      recorder,
      backlogHold,
      maintenanceHold,
      consumer,
      dispatch,
      metricsExport,
      notices,
      reminders,
      news,
      applier,
      newestSlots,
      installation,
    } = parts;
    await this.#begin('export of metrics', metricsExport, () => metricsExport.load());
    await this.#begin('recorder', recorder, () => recorder.load());
    recorder.onTransition((change) => logTransitions(this.#parts.log, change, this.#parts.regionText));
    metricsExport.start();
    this.#services = leaderServices(this.#parts, parts, () => this.#declaredFile);
    if (installation !== null) await this.#startDelivery(installation);
    await this.#begin('news of status pages', news, () => news.start());
    if (installation !== null) await this.#startPages(installation);
    this.#applier = applier;
    await this.#begin('changes', applier, () => applier.applyRemaining());
    if (!this.#parts.isAlone) this.#followOthers(applier, installation?.deliverer ?? null);
    const announce = (monitorIds: readonly number[]) => recorder.announceStatuses(monitorIds);
    await this.#begin('hold of a backlog', backlogHold, () => backlogHold.start(announce));
    await this.#begin('maintenance windows', maintenanceHold, () => maintenanceHold.start(announce));
    await this.#begin('notices about monitors', notices, () => notices.start());
    await this.#begin('reminders', reminders, () => reminders.start());
    await this.#begin('consumer', consumer, () => consumer.start());
    if (installation !== null) await this.#startHistory(installation);
    await this.#begin('dispatch', dispatch, () => dispatch.start());
    newestSlots.clear();
    if (installation !== null) await this.#declare(installation);
    const deadman = installation?.deadman ?? null;
    if (deadman !== null) await this.#begin("dead man's switch", deadman, () => deadman.start());
    this.#isLeading = true;
  }

  async #startDelivery({ deliverer, overdue }: InstallationParts): Promise<void> {
    await this.#begin('deliverer', deliverer, () => deliverer.start());
    await this.#begin('watch on overdue alerts', overdue, () => overdue.start());
  }

  async #startPages({ domainChecks, iconFetches }: InstallationParts): Promise<void> {
    await this.#begin('checks of custom domains', domainChecks, () => domainChecks.start());
    await this.#begin('icons of status pages', iconFetches, () => iconFetches.start());
  }

  async #startHistory({ rollups, retention }: InstallationParts): Promise<void> {
    await this.#begin('roll-ups', rollups, () => rollups.start());
    await this.#begin('retention', retention, () => retention.start());
  }

  /**
   * Applies the changes that other coordinators log, and sends the alerts and mails that they queue.
   *
   * @param deliverer null: the shard is not 0, so this leadership sends no alerts and mails
   */
  #followOthers(applier: ChangeApplier, deliverer: Deliverer | null): void {
    const { clock, bus, shard } = this.#parts;
    const find = () => void this.#findQueued(deliverer);
    const cancel = clock.every(FOLLOW_EVERY_MS, () => {
      void applier.applyRemaining();
      find();
    });
    this.#started.add('following of other coordinators', cancel);
    if (deliverer === null || shard.count === 1) return;
    const hints = bus.subscribe(QUEUED_HINT, find);
    this.#started.add('hints of other shards', () => hints.close());
  }

  async #findQueued(deliverer: Deliverer | null): Promise<void> {
    // A search that is under way may have passed what was queued last, so another one follows it.
    this.#isSearchDue = true;
    if (deliverer === null || this.#isSearching) return;
    this.#isSearching = true;
    try {
      while (this.#isSearchDue) {
        this.#isSearchDue = false;
        await deliverer.findQueuedElsewhere();
      }
    } catch (error) {
      // The next search tries again, 500 ms later at most.
      this.#parts.log.debug({ error: messageOf(error) }, 'cannot read what other coordinators have queued');
    }
    this.#isSearching = false;
  }

  /**
   * Starts a part, unless the leadership is being stopped. The part is stopped even if its start fails.
   *
   * @throws LeadershipEnded, or the error of the start
   */
  async #begin(
    name: string,
    part: { stop(): Promise<void> | void },
    start: () => Promise<void> | void,
  ): Promise<void> {
    this.#mustGoOn();
    this.#started.add(name, () => part.stop());
    await start();
    this.#mustGoOn();
  }

  #mustGoOn(): void {
    if (this.#stopping !== null) throw new LeadershipEnded();
  }

  async #stop(): Promise<void> {
    this.#isLeading = false;
    // The applier stops first, because it releases callers that wait for effects (requests,
    // the declared file). A waiting caller would delay the stop of its own part.
    this.#applier?.stop();
    await this.#started.stop();
    // A start in progress fails before its next part. Parts
    // that it started after the stop above are stopped below.
    await this.#starting.catch(() => {});
    await this.#started.stop();
  }

  /** Applies and watches the declared file. Without a file, the resources of an earlier file are released. */
  async #declare({ configuration }: InstallationParts): Promise<void> {
    this.#mustGoOn();
    const declaredFile = createDeclaredFile(this.#parts, configuration);
    if (declaredFile === null) {
      await configuration.releaseFileOwnership();
      this.#mustGoOn();
      return;
    }
    this.#declaredFile = declaredFile;
    await this.#begin('declared file', declaredFile, () => declaredFile.start());
  }
}
