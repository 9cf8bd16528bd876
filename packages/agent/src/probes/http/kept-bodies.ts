import { LIMITS } from '@svc/shared/limits.ts';

/** The memory that all response bodies kept for assertions share, in bytes. */
export class KeptBodies {
  #free: number;

  constructor(limitBytes: number = LIMITS.keptBodiesBytes) {
    this.#free = limitBytes;
  }

  get freeBytes(): number {
    return this.#free;
  }

  /** Takes `bytes` of it, or nothing when that much is not left. */
  tryTake(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#free += bytes;
  }
}
