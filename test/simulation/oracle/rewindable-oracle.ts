import type { Region } from '@svc/shared/regions.ts';
import { Rewindable } from '../rewindable.ts';
import type { Now } from '../told.ts';
import type { Moment } from './moment.ts';
import { type ElectableRegions, Oracle, type Violation } from './oracle.ts';

/**
 * An oracle that forgets what a database has lost: it is made again, and told all but that. What it has found stays.
 */
export class RewindableOracle {
  readonly #presence: ElectableRegions;
  readonly #isRewindable: boolean;
  /** What was true when the present step was taken first; null: none is. */
  #electable: ReadonlySet<Region> | null = null;
  readonly #oracle: Rewindable<Oracle>;
  /** What was found before the last rewinding. */
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

  /** The oracle as it is now. */
  get present(): Oracle {
    return this.#oracle.value;
  }

  get violations(): readonly Violation[] {
    const { violations } = this.present;
    return this.#found.length === 0 ? violations : [...this.#found, ...violations];
  }

  /** Number of steps that it was told. */
  get steps(): number {
    return this.#oracle.length;
  }

  /** Tells it something. The step depends on nothing that changes later. */
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

  moment(now: Now): Moment {
    return this.present.moment(now);
  }

  slots(text: string, at: number): void {
    this.present.slots(text, at);
  }

  leaders(text: string, at: number): void {
    this.present.violations.push({ kind: 'leaders', at, text });
  }

  /** Forgets all but so many steps. */
  rewindTo(steps: number): void {
    if (steps === this.steps) return;
    this.#found.push(...this.present.violations);
    this.#oracle.rewindTo(steps);
    this.present.violations.length = 0;
  }
}
