import type { Region } from '@svc/shared/regions.ts';
import type { Now } from '../told.ts';

/**
 * Regions whose vote is not known: which one the service has depends on what it has written. Nothing is judged until
 * each of them has voted anew, or until such a vote has aged.
 */
export class Doubts {
  /** On the clock of votes, ms. */
  readonly #until = new Map<Region, number>();

  /** @param until on the clock of votes, ms */
  add(region: Region, until: number): void {
    this.#until.set(region, until);
  }

  /** The region has voted anew. */
  end(region: Region): void {
    this.#until.delete(region);
  }

  /** All votes are ended. */
  endAll(): void {
    this.#until.clear();
  }

  any({ age }: Now): boolean {
    for (const until of this.#until.values()) if (until > age) return true;
    return false;
  }
}
