/**
 * The values of an instrument with open labels: a number for each combination of label values that has one.
 * The code that counts bounds the combinations; the declaration of the instrument says how.
 *
 * @typeParam N the names of the labels
 */
export class Series<N extends string = string> {
  readonly #points = new Map<string, { readonly labels: Readonly<Record<N, string>>; value: number }>();
  readonly #names: readonly N[];

  /** @param names the names of the labels, in the order of the declaration */
  constructor(names: readonly N[]) {
    this.#names = names;
  }

  /** Counts; the time series begins at 0. */
  add(labels: Readonly<Record<N, string>>, by = 1): void {
    this.#point(labels).value += by;
  }

  set(labels: Readonly<Record<N, string>>, value: number): void {
    this.#point(labels).value = value;
  }

  /** A copy, in the order in which the time series appeared. */
  points(): { readonly labels: Readonly<Record<string, string>>; readonly value: number }[] {
    return [...this.#points.values()].map(({ labels, value }) => ({
      labels: Object.fromEntries(this.#names.map((name) => [name, labels[name]])),
      value,
    }));
  }

  #point(labels: Readonly<Record<N, string>>): { value: number } {
    // A line feed is in none of our label values, so no two combinations have one key.
    const key = this.#names.map((name) => labels[name]).join('\n');
    const known = this.#points.get(key);
    if (known !== undefined) return known;
    const point = { labels: { ...labels }, value: 0 };
    this.#points.set(key, point);
    return point;
  }
}
