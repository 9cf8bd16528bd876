/**
 * Minimum length of a value that is masked. Masking a shorter value would garble the text and hide nothing.
 */
const SHORTEST = 4;
/**
 * Maximum number of words of a secret whose words are searched for in every form. Credentials have few words.
 * Other secrets may have thousands, and each form costs time.
 */
const MOST_WORDS = 4;
/**
 * Budget of the search in one text, in compared characters; it takes 20 ms at most. From the place where the
 * budget is used up, the rest of the text counts as secret.
 */
const MOST_COMPARED = 500_000;
/**
 * Cost of looking at one place, and of one comparison in addition to its characters. The unit is a compared
 * character.
 */
const COMPARISON = 16;

/**
 * Writes a text in one form, character by character: the beginning of the text gives the beginning of the
 * form.
 */
type Write = (text: string) => string;

/**
 * A form in which a secret may occur in a text. The form is built only when the text contains its beginning.
 */
type Form = { readonly secret: string; readonly write: Write; written: string | null };

/**
 * Finds secrets in a text: whole, in the parts that a receiver is likely to repeat (the token of
 * `Bearer <token>`), and in the forms in which servers write texts into URLs, JSON and HTML.
 */
export class SecretForms {
  readonly #byBeginning = new Map<string, Form[]>();
  readonly #words = new Words();
  readonly #line: string;
  readonly #isCut: boolean;
  #comparable = MOST_COMPARED;

  /**
   * @param line the text as `onOneLine` returns it
   * @param isCut whether the text broke off; the beginning of a secret at its end then counts as a secret
   */
  constructor(secrets: readonly string[], line: string, isCut: boolean) {
    this.#line = line;
    this.#isCut = isCut;
    for (const secret of secrets) {
      this.#add(secret);
      const words = secret.split(/\s+/, MOST_WORDS + 1);
      if (words.length > MOST_WORDS) this.#addWords(secret);
      else for (const word of words) if (word.length >= SHORTEST_WORD && word !== secret) this.#add(word);
    }
  }

  /**
   * The end of the secret that begins at this place, with the secrets that overlap it. Returns `at` if no
   * secret begins there, and the end of the line once {@link MOST_COMPARED} is used up.
   */
  endOf(at: number): number {
    let end = this.#endOfOne(at);
    for (let within = at + 1; within < end && this.#comparable > 0; within += 1) {
      end = Math.max(end, this.#endOfOne(within));
    }
    return this.#comparable > 0 ? end : this.#line.length;
  }

  #endOfOne(at: number): number {
    let end = at;
    this.#comparable -= COMPARISON;
    for (const form of this.#byBeginning.get(this.#line.slice(at, at + SHORTEST)) ?? []) {
      form.written ??= onOneLine(form.write(form.secret));
      end = Math.max(end, this.#endOfThis(form.written, at));
    }
    for (let word = this.#words.mayBegin(this.#line, at); word !== null; word = word.next) {
      end = Math.max(end, this.#endOfThis(word.text.slice(word.start, word.end), at));
    }
    return end;
  }

  #endOfThis(secret: string, at: number): number {
    if (this.#comparable <= 0) return at;
    this.#comparable -= secret.length + COMPARISON;
    if (this.#line.startsWith(secret, at)) return at + secret.length;
    return this.#isCutIn(secret, at) ? this.#line.length : at;
  }

  /** Whether the text broke off within this secret. */
  #isCutIn(secret: string, at: number): boolean {
    const left = this.#line.length - at;
    return this.#isCut && left >= SHORTEST && left < secret.length && secret.startsWith(this.#line.slice(at));
  }

  #addWords(secret: string): void {
    const line = onOneLine(secret);
    for (const text of new Set([line, inUrl(line).replaceAll('%20', ' '), inJson(line)]))
      this.#words.add(text);
  }

  #add(secret: string): void {
    for (const write of PLAIN.test(secret) ? [asItIs] : WRITERS) {
      const beginning = beginningOf(secret, write);
      if (beginning.length < SHORTEST) continue;
      const form = { secret, write, written: null };
      const others = this.#byBeginning.get(beginning);
      if (others === undefined) this.#byBeginning.set(beginning, [form]);
      else others.push(form);
    }
  }
}

/** The first characters of a form, or the whole form when it is shorter. */
function beginningOf(secret: string, write: Write): string {
  // One more character than needed is written, so that no needed character is cut in half.
  const beginning = onOneLine(write(secret.slice(0, SHORTEST + 1).toWellFormed())).slice(0, SHORTEST);
  return beginning.length < SHORTEST ? onOneLine(write(secret)).slice(0, SHORTEST) : beginning;
}

const NOT_SHOWN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\s]+/g;

/** The text on one line, without control characters, as messages show it. */
export function onOneLine(text: string): string {
  return text.replace(NOT_SHOWN, ' ').trim().toWellFormed();
}

/** Matches texts that no form changes. */
const PLAIN = /^[\w.~-]*$/;

const asItIs: Write = (text) => text;
const inUrl: Write = (text) => encodeURIComponent(text.toWellFormed());
const inJson: Write = (text) => JSON.stringify(text).slice(1, -1);

/** The forms in which languages and templates write a text. */
const WRITERS: readonly Write[] = [
  asItIs,
  inUrl,
  inJson,
  // PHP escapes slashes; Go, Java and Django escape what has a meaning in HTML.
  (text) => inJson(text).replaceAll('/', '\\/'),
  (text) => inJson(text).replace(/[&<>]/g, asUnicodeEscape),
  (text) => inJson(text).replace(/[&<>'=]/g, asUnicodeEscape),
  inHtml('&quot;', '&#39;'),
  inHtml('&quot;', '&#x27;'),
  inHtml('&quot;', '&#039;'),
  inHtml('&#34;', '&#39;'),
  inHtml('"', "'"),
];

function asUnicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function inHtml(doubleQuote: string, singleQuote: string): Write {
  return (text) =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', doubleQuote)
      .replaceAll("'", singleQuote);
}

/** Minimum length of a word that is masked. Masking a shorter word would garble the text and hide nothing. */
const SHORTEST_WORD = 8;
/** Number of characters that choose the bucket of a word. */
const BEGINNING = 4;
const BUCKETS = 1 << 15;
const SPACE = 0x20;

/** A word of `text`, from `start` to `end`. `next` is another word in the same bucket. */
type Word = {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly next: Word | null;
};

/**
 * The words of long texts, found by their beginnings. Only the place of each word is stored, because texts
 * have thousands of words and few are looked up.
 */
class Words {
  readonly #buckets = new Map<number, Word>();

  /** @param text has no white space but single spaces */
  add(text: string): void {
    for (let start = 0; start < text.length; ) {
      const space = text.indexOf(' ', start);
      const end = space === -1 ? text.length : space;
      if (end - start >= SHORTEST_WORD) {
        const bucket = bucketOf(text, start);
        this.#buckets.set(bucket, { text, start, end, next: this.#buckets.get(bucket) ?? null });
      }
      start = end + 1;
    }
  }

  /** The words that may begin at this place of the line, linked by `next`; null when there are none. */
  mayBegin(line: string, at: number): Word | null {
    return this.#buckets.get(bucketOf(line, at)) ?? null;
  }
}

function bucketOf(text: string, at: number): number {
  let hash = 0;
  for (let index = at; index < at + BEGINNING; index += 1) {
    const code = index < text.length ? text.charCodeAt(index) : SPACE;
    hash = (hash * 31 + code) % BUCKETS;
  }
  return hash;
}
