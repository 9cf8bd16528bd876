/** Most simultaneous sends that are not slow. */
export const SENDS_IN_ALL = 512;
/** Most simultaneous sends that wait for their receiver for a second or more. */
export const SLOW_IN_ALL = 1_024;

/**
 * Counts the running sends by workspace. Slow sends have places of their own, also from their beginning where the
 * channel was slow before: receivers that hang take nothing from those that answer.
 *
 * A workspace takes at most as many places of a kind as are left free. One alone gets half of them, two get a third
 * each, and some are always left for another.
 */
export class Places {
  readonly #quick = new Count(SENDS_IN_ALL);
  readonly #slow = new Count(SLOW_IN_ALL);

  /** Whether {@link take} would give this workspace a place. */
  hasFor(workspaceId: number, isSlow: boolean): boolean {
    return (isSlow ? this.#slow : this.#quick).hasFor(workspaceId);
  }

  /**
   * Takes a place; null when none is left for this workspace.
   *
   * @param isSlow whether the send is expected to be slow
   */
  take(workspaceId: number, isSlow: boolean): Place | null {
    let held: Count | null = isSlow ? this.#slow : this.#quick;
    if (!held.take(workspaceId)) return null;
    return {
      slow: () => {
        if (held !== this.#quick || !this.#slow.take(workspaceId)) return false;
        this.#quick.give(workspaceId);
        held = this.#slow;
        return true;
      },
      give: () => {
        held?.give(workspaceId);
        held = null;
      },
    };
  }
}

export type Place = {
  /** The send is slow: moves it to a place for slow ones. False: none is left, or it has one. */
  slow(): boolean;
  /** Returns the place. */
  give(): void;
};

class Count {
  readonly #taken = new Map<number, number>();
  #free: number;

  constructor(inAll: number) {
    this.#free = inAll;
  }

  hasFor(workspaceId: number): boolean {
    return (this.#taken.get(workspaceId) ?? 0) < this.#free;
  }

  take(workspaceId: number): boolean {
    if (!this.hasFor(workspaceId)) return false;
    this.#free -= 1;
    this.#taken.set(workspaceId, (this.#taken.get(workspaceId) ?? 0) + 1);
    return true;
  }

  give(workspaceId: number): void {
    const taken = this.#taken.get(workspaceId) ?? 0;
    this.#free += 1;
    if (taken <= 1) this.#taken.delete(workspaceId);
    else this.#taken.set(workspaceId, taken - 1);
  }
}
