/**
 * Most simultaneous sends: of all channels, and of one workspace, so that no workspace can delay the others.
 * Slow sends, which wait for their receiver for a second or more, have places of their own: receivers that
 * hang take nothing from those that answer.
 */
export const SENDS_IN_ALL = 512;
export const SENDS_PER_WORKSPACE = 128;
const SLOW_IN_ALL = 1_024;
export const SLOW_PER_WORKSPACE = 512;

/** Counts the running sends by workspace. */
export class Places {
  readonly #quick = new Count(SENDS_IN_ALL, SENDS_PER_WORKSPACE);
  readonly #slow = new Count(SLOW_IN_ALL, SLOW_PER_WORKSPACE);

  /** Whether all places are taken. */
  get isFull(): boolean {
    return this.#quick.isFull;
  }

  /** Whether {@link take} would give this workspace a place. */
  hasFor(workspaceId: number): boolean {
    return this.#quick.hasFor(workspaceId);
  }

  /** Takes a place; null when none is left for this workspace. */
  take(workspaceId: number): Place | null {
    if (!this.#quick.take(workspaceId)) return null;
    let held: Count | null = this.#quick;
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
  /** The send is slow: moves it to a place for slow ones. False: none is left, and it keeps this one. */
  slow(): boolean;
  /** Returns the place. */
  give(): void;
};

class Count {
  readonly #taken = new Map<number, number>();
  readonly #inAll: number;
  readonly #perWorkspace: number;
  #count = 0;

  constructor(inAll: number, perWorkspace: number) {
    this.#inAll = inAll;
    this.#perWorkspace = perWorkspace;
  }

  get isFull(): boolean {
    return this.#count >= this.#inAll;
  }

  hasFor(workspaceId: number): boolean {
    return !this.isFull && (this.#taken.get(workspaceId) ?? 0) < this.#perWorkspace;
  }

  take(workspaceId: number): boolean {
    if (!this.hasFor(workspaceId)) return false;
    this.#count += 1;
    this.#taken.set(workspaceId, (this.#taken.get(workspaceId) ?? 0) + 1);
    return true;
  }

  give(workspaceId: number): void {
    const taken = this.#taken.get(workspaceId) ?? 0;
    this.#count -= 1;
    if (taken <= 1) this.#taken.delete(workspaceId);
    else this.#taken.set(workspaceId, taken - 1);
  }
}
