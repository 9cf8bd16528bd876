type Place = { readonly start: number; readonly end: number; readonly path: readonly (string | number)[] };

/**
 * The position of each value of a JSON document, in bytes of UTF-8: Terraform names positions in a file, and
 * tests name attributes. A member begins with its key.
 */
export class JsonPlaces {
  readonly #bytes: Buffer;
  readonly #places: Place[] = [];
  #at = 0;

  /** @param text valid JSON */
  constructor(text: string) {
    this.#bytes = Buffer.from(text);
    this.#value([], 0);
  }

  /** Path of the innermost value around this byte. */
  pathAt(byte: number): readonly (string | number)[] {
    const around = this.#places.filter(({ start, end }) => start <= byte && byte < end);
    return around.toSorted((one, other) => one.end - one.start - (other.end - other.start))[0]?.path ?? [];
  }

  #value(path: readonly (string | number)[], start: number): void {
    this.#blank();
    const first = this.#next();
    if (first === '{' || first === '[') this.#members(path, first === '{' ? '}' : ']');
    else if (first === '"') this.#text();
    else while (/[\w.+-]/.test(this.#next())) this.#at += 1;
    this.#places.push({ start, end: this.#at, path });
  }

  #members(path: readonly (string | number)[], close: string): void {
    this.#at += 1;
    for (let index = 0; ; index += 1) {
      this.#blank();
      if (this.#next() === ',') {
        this.#at += 1;
        this.#blank();
      }
      if (this.#next() === close) break;
      const start = this.#at;
      const step = close === '}' ? this.#key() : index;
      this.#value([...path, step], start);
    }
    this.#at += 1;
  }

  #key(): string {
    const key = this.#text();
    this.#blank();
    this.#at += 1; // The colon.
    return key;
  }

  #text(): string {
    const start = this.#at;
    this.#at += 1;
    while (this.#next() !== '"') this.#at += this.#next() === '\\' ? 2 : 1;
    this.#at += 1;
    return JSON.parse(this.#bytes.toString('utf8', start, this.#at)) as string;
  }

  #blank(): void {
    while (/\s/.test(this.#next())) this.#at += 1;
  }

  #next(): string {
    return String.fromCharCode(this.#bytes[this.#at] ?? 0);
  }
}
