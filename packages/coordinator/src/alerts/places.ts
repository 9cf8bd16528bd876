/** Most channels' looks and messages in progress in all. */
export const IN_PROGRESS_IN_ALL = 1_024;

/**
 * The one bound over all channels: a workspace may begin a message only while it has fewer in progress than are left.
 * One workspace alone gets half of all, two get a third each, and some are always left for another.
 */
export class Places {
  readonly #taken = new Map<number, number>();
  #free = IN_PROGRESS_IN_ALL;

  hasFor(workspaceId: number): boolean {
    return (this.#taken.get(workspaceId) ?? 0) < this.#free;
  }

  /** The caller has seen that there is one. */
  take(workspaceId: number): void {
    this.#free -= 1;
    this.#taken.set(workspaceId, (this.#taken.get(workspaceId) ?? 0) + 1);
  }

  give(workspaceId: number): void {
    const taken = this.#taken.get(workspaceId) ?? 0;
    this.#free += 1;
    if (taken <= 1) this.#taken.delete(workspaceId);
    else this.#taken.set(workspaceId, taken - 1);
  }
}
