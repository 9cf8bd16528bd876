/**
 * A map of bounded size. If a new key exceeds the bound, the map forgets the key that was set longest ago.
 */
export class RecentMap<K, V> {
  readonly #most: number;
  /** A map keeps the order of insertion, so the most recently set key is last. */
  readonly #entries = new Map<K, V>();

  /** @param most maximum number of keys */
  constructor(most: number) {
    this.#most = most;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#most) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }
}
