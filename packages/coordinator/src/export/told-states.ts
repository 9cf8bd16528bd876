import type { EndpointState, ExportedPoints } from './protocol.ts';

export const NO_POINTS: ExportedPoints = { taken: 0, rejected: 0, dropped: 0 };

export function addPoints(
  { taken, rejected, dropped }: ExportedPoints,
  more: ExportedPoints,
): ExportedPoints {
  return {
    taken: taken + more.taken,
    rejected: rejected + more.rejected,
    dropped: dropped + more.dropped,
  };
}

/**
 * The states of endpoints that the thread of the export reported, at most a second ago, with the counts of earlier
 * threads.
 */
export class ToldStates {
  readonly #endpoints = new Map<string, EndpointState>();
  #ofThread = NO_POINTS;
  #before = NO_POINTS;

  get endpoints(): readonly EndpointState[] {
    return [...this.#endpoints.values()];
  }

  /** Points since the start of the process. */
  get points(): ExportedPoints {
    return addPoints(this.#before, this.#ofThread);
  }

  /**
   * @param gone      keys of endpoints that are gone, before those that have changed
   * @param endpoints those that have changed
   */
  told(gone: readonly string[], endpoints: readonly EndpointState[], points: ExportedPoints): void {
    for (const key of gone) this.#endpoints.delete(key);
    for (const endpoint of endpoints) this.#endpoints.set(endpoint.key, endpoint);
    this.#ofThread = points;
  }

  /** The thread is gone, with the requests that waited in it. */
  ended(): void {
    const dropped = this.endpoints.reduce((sum, { bufferedPoints }) => sum + bufferedPoints, 0);
    this.#before = addPoints(this.points, { ...NO_POINTS, dropped });
    this.#ofThread = NO_POINTS;
    this.#endpoints.clear();
  }
}
