/**
 * Most simultaneous sends: of all channels, and of one workspace, so that no workspace can delay the others.
 */
export const SENDS_IN_ALL = 512;
export const SENDS_PER_WORKSPACE = 128;

/** Counts the running sends by workspace; null stands for a workspace that is not known any more. */
export class Places {
  readonly #taken = new Map<number | null, number>();
  #count = 0;

  /** Whether all places are taken. */
  get isFull(): boolean {
    return this.#count >= SENDS_IN_ALL;
  }

  /** Takes a place; false when none is left for this workspace. */
  take(workspaceId: number | null): boolean {
    const taken = this.#taken.get(workspaceId) ?? 0;
    if (this.isFull || taken >= SENDS_PER_WORKSPACE) return false;
    this.#count += 1;
    this.#taken.set(workspaceId, taken + 1);
    return true;
  }

  /** Returns a taken place. */
  give(workspaceId: number | null): void {
    const taken = this.#taken.get(workspaceId) ?? 0;
    this.#count -= 1;
    if (taken <= 1) this.#taken.delete(workspaceId);
    else this.#taken.set(workspaceId, taken - 1);
  }
}
