import type { Region } from '@svc/shared/regions.ts';
import { Rewindable } from '../rewindable.ts';
import type { Now } from '../told.ts';
import type { Moment } from './moment.ts';
import { type ElectableRegions, Oracle, type Violation } from './oracle.ts';

/**
 * An oracle that can forget the last steps, because the database has lost them. It is then
 * made again, and gets all earlier steps once more. Violations that it has found are kept.
 */
export class RewindableOracle {
  readonly #presence: ElectableRegions;
  readonly #isRewindable: boolean;
  /**
   * The regions that had an agent within 24 h when the present
   * step was first taken; null: no step is being taken.
   */
  #electable: ReadonlySet<Region> | null = null;
  readonly #oracle: Rewindable<Oracle>;
  #wasClockSet = false;
  /** Violations that were found before the last rewinding. */
  readonly #found: Violation[] = [];

  constructor(
    presence: ElectableRegions,
    { isTargetFine, isRewindable }: { readonly isTargetFine: boolean; readonly isRewindable: boolean },
  ) {
    this.#presence = presence;
    this.#isRewindable = isRewindable;
    const electable = () => this.#electable ?? presence.electable();
    this.#oracle = new Rewindable(() => new Oracle({ electable }, { isTargetFine }));
  }

  /** The present oracle. */
  get present(): Oracle {
    return this.#oracle.value;
  }

  get violations(): readonly Violation[] {
    const { violations } = this.present;
    return this.#found.length === 0 ? violations : [...this.#found, ...violations];
  }

  /** Number of steps that the oracle was told. */
  get steps(): number {
    return this.#oracle.length;
  }

  /** Tells the oracle a step. The step must not depend on anything that changes later. */
  tell(step: (oracle: Oracle) => void): void {
    if (!this.#isRewindable) {
      step(this.present);
      return;
    }
    const electable = this.#presence.electable();
    this.#oracle.take((oracle) => {
      this.#electable = electable;
      step(oracle);
      this.#electable = null;
    });
  }

  /** Records that the system's clock was set. A database that loses commits does not set it back. */
  clockWasSet(): void {
    this.#wasClockSet = true;
    this.tell((oracle) => oracle.clockWasSet());
  }

  moment(now: Now): Moment {
    return this.present.moment(now);
  }

  slots(text: string, at: number): void {
    this.present.slots(text, at);
  }

  leaders(text: string, at: number): void {
    this.present.violations.push({ kind: 'leaders', at, text });
  }

  /** Forgets all steps after the first `steps`, but not that the clock was set. */
  rewindTo(steps: number): void {
    if (steps === this.steps) return;
    this.#found.push(...this.present.violations);
    this.#oracle.rewindTo(steps);
    this.present.violations.length = 0;
    if (this.#wasClockSet) this.clockWasSet();
  }
}
