import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { World } from '../world.ts';
import { Offers } from './offers.ts';
import type { Oracle } from './oracle.ts';

/**
 * Time within which a first slot must come, ms: "a new, re-activated
 * or differently probed monitor gets a first slot at once".
 */
const FIRST_WITHIN_MS = 5_000;
/** Longest time to the next slot, in periods: after a first slot, "none on the grid within half a period". */
const LONGEST_PERIODS = 1.5;
/**
 * Factor for the waits, because the slots' clock may be a
 * tenth slower than the monotonic clock: 1 / 0.9, rounded up.
 */
const SLOWEST = 1.12;
/** Time by which a turn of dispatch may be late, ms. */
const SLACK_MS = 2_000;

/** The methods that a life of the coordinator calls. */
export type JudgeOfSlots = Pick<
  Slots,
  'opened' | 'offered' | 'read' | 'answered' | 'skipped' | 'declared' | 'resumed'
>;

/**
 * Judges the slots that dispatch gives: "a monitor gets one slot per period", and
 * its first slot at once, in all regions (`offers.ts`). The rest of the oracle takes
 * the slots as they come, so without any slot it would accept `unknown` for ever.
 *
 * Violations are reported only in worlds without limits, because slots are skipped under a limit.
 */
export class Slots {
  readonly #world: Pick<World, 'limits'>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #presence: { live(): readonly Region[] };
  readonly #oracle: Pick<Oracle, 'slots'>;
  readonly #offers = new Offers();
  #monitor: LiveMonitor | null = null;
  #isRunning = false;
  #wasClockSet = false;
  /** Since when the next slot is expected, monotonic ms; null: no slot is expected. */
  #since: number | null = null;
  /**
   * Whether the next slot is the first one since the monitor was
   * declared or activated, or since its probed attributes changed.
   */
  #owesFirst = true;
  /** The version and the activation of the monitor that the newest slot was about. */
  #given: Pick<LiveMonitor, 'version' | 'activatedAt'> | null = null;
  /**
   * The newest slot, if it is the first one about the present
   * version of the monitor; 0: it is not the first one.
   */
  #first = 0;

  constructor(
    world: Pick<World, 'limits'>,
    clock: Pick<Clock, 'monotonic'>,
    presence: { live(): readonly Region[] },
    oracle: Pick<Oracle, 'slots'>,
  ) {
    this.#world = world;
    this.#clock = clock;
    this.#presence = presence;
    this.#oracle = oracle;
  }

  /**
   * Records that dispatch begins.
   *
   * @param monitor the monitor as it is declared now
   * @param isAgain whether slots may have been given that are not known here
   */
  resumed(monitor: LiveMonitor | null, isAgain = false): void {
    this.#isRunning = true;
    this.#since = null;
    // The service does not believe activations and slots of
    // a clock that was ahead, so no first slot is expected.
    if (this.#wasClockSet || isAgain) this.#given = monitor;
    this.#take(monitor);
  }

  ended(): void {
    this.#offers.forgive();
    this.#isRunning = false;
    this.#since = null;
  }

  /** Records that the clock was set. If it was set forward, the slots in between are skipped. */
  clockWasSet(): void {
    this.#wasClockSet = true;
    this.#since = null;
  }

  declared(monitor: LiveMonitor | null): void {
    if (!this.#isRunning) return;
    const before = this.#monitor;
    this.#offers.forgive();
    this.#take(monitor);
    if (this.#owesFirst || monitor?.periodMs !== before?.periodMs) this.#since = null;
  }

  /**
   * Judges a slot that is given to regions.
   *
   * @param heldBy returns the slots whose jobs the region's agent holds
   */
  opened(
    monitor: LiveMonitor,
    slot: number,
    given: readonly Region[],
    heldBy: (region: Region) => Iterable<number>,
  ): void {
    const { version, activatedAt } = monitor;
    const around = { live: this.#presence.live(), heldBy, now: this.#clock.monotonic() };
    this.#faultOf(this.#offers.opened(monitor, slot, given, around));
    this.#first = this.#given?.version === version ? 0 : slot;
    this.#given = { version, activatedAt };
    this.#owesFirst = false;
    this.#since = null;
  }

  /** Records that an agent of the region is offered a job. */
  offered(region: Region, job: { readonly slot: number; readonly version: number }): void {
    this.#offers.offered(region, job);
  }

  /** Records that the region's report is read. */
  read(region: Region, slot: number): void {
    this.#offers.read(region, slot);
  }

  /** Records that the region has reported the slot, or abstains. */
  answered(region: Region, slot: number): void {
    this.#offers.answered(region, slot);
  }

  skipped({ version }: LiveMonitor, slot: number, region: Region): void {
    this.#faultOf(this.#offers.leftOut(region, slot, version));
    if (slot !== this.#first) return;
    this.#fault(`${region} leaves out slot ${slot}, the first about what is probed now`);
  }

  /** Judges whether a slot or a job is overdue. Call it after each event of the world. */
  look(): void {
    this.#faultOf(this.#offers.overdue(this.#presence.live(), this.#clock.monotonic()));
    const monitor = this.#monitor;
    if (!this.#isRunning || monitor?.active !== true || !isLive(monitor, this.#presence.live())) {
      this.#since = null;
      return;
    }
    const now = this.#clock.monotonic();
    this.#since ??= now;
    const withinMs = this.#owesFirst ? FIRST_WITHIN_MS : LONGEST_PERIODS * monitor.periodMs;
    if (now - this.#since <= withinMs * SLOWEST + SLACK_MS) return;
    this.#fault(`no ${this.#owesFirst ? 'first ' : ''}slot was given since ${this.#since}`);
    this.#since = null;
    this.#owesFirst = false;
  }

  #faultOf(text: string | null): void {
    if (text !== null) this.#fault(text);
  }

  #fault(text: string): void {
    if (this.#world.limits.length === 0) this.#oracle.slots(text, this.#clock.monotonic());
  }

  #take(monitor: LiveMonitor | null): void {
    this.#monitor = monitor;
    // If no region is declared, the first slot is given to nobody, so it is not expected.
    if (monitor?.regions?.length === 0) this.#given = monitor;
    this.#owesFirst =
      this.#given?.version !== monitor?.version || this.#given?.activatedAt !== monitor?.activatedAt;
  }
}

function isLive({ regions }: LiveMonitor, live: readonly Region[]): boolean {
  return regions === null ? live.length > 0 : live.some((region) => regions.includes(region));
}
