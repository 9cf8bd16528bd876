import type { Encoding } from './request-encoder.ts';

/** How often an endpoint is asked that does not say whether it reads protobuf. */
const MOST_QUESTIONS = 3;

/**
 * The encoding of the requests to an endpoint. JSON comes first. Protobuf takes half of the CPU, so an endpoint that has
 * taken points in JSON is asked, by a request without points, whether it reads protobuf as well. The collection after
 * its answer is the trial: later ones are in JSON until a request of the trial is taken.
 *
 *     json ── taken ──▶ asked ── yes ──▶ agreed ── next collection ──▶ trial ── taken ──▶ proven: protobuf
 *      │ ▲                │ no                                           │ anything else     │
 *      │ └── for good ────┴──────────────────────────────────────────────┴───── refused ─────┘
 *      └── refused ──▶ protobuf
 *
 * `refused` is an answer to the encoding: 400 or 415. An endpoint that is away when it is asked or tried is asked again,
 * a few times.
 */
export class EncodingChoice {
  /** Of what is collected now. */
  current: Encoding;
  /** Of the next collection. */
  #next: Encoding;
  #state: 'json' | 'asked' | 'agreed' | 'trial' | 'proven' | 'for-good' = 'json';
  #questions = 0;

  /** @param isOpen nobody has set the encoding, so the endpoint may be asked for another */
  constructor(first: Encoding, isOpen: boolean) {
    this.current = first;
    this.#next = first;
    if (!isOpen || first !== 'json') this.#state = 'for-good';
  }

  /** Whether a request in this encoding is a trial, which the endpoint need not take. */
  isTrial(encoding: Encoding): boolean {
    return this.#state === 'trial' && encoding === 'protobuf';
  }

  /** A collection begins. */
  begin(): void {
    this.current = this.#next;
    if (this.#state !== 'agreed') return;
    this.#state = 'trial';
    this.#next = 'json';
  }

  /**
   * A request with points was taken.
   *
   * @param isWhole the endpoint has complained of nothing
   * @returns whether the endpoint is to be asked now; {@link answered} has the answer
   */
  taken(encoding: Encoding, isWhole: boolean): boolean {
    if (this.isTrial(encoding)) {
      this.#state = isWhole ? 'proven' : 'for-good';
      if (isWhole) this.#next = 'protobuf';
      return false;
    }
    const isAsked = this.#state === 'json' && isWhole;
    if (isAsked) {
      this.#state = 'asked';
      this.#questions += 1;
    }
    return isAsked;
  }

  /** @param reads whether the endpoint reads protobuf; null: it did not say */
  answered(reads: boolean | null): void {
    if (this.#state !== 'asked') return;
    if (reads === null) this.#askLater();
    else this.#state = reads ? 'agreed' : 'for-good';
    if (reads === true) this.#next = 'protobuf';
  }

  /** The endpoint does not take this encoding: the other one, for good. */
  refused(encoding: Encoding): void {
    this.#leave(encoding);
    this.#state = 'for-good';
  }

  /** The endpoint was away at the trial. */
  missed(): void {
    this.#leave('protobuf');
    this.#askLater();
  }

  #leave(encoding: Encoding): void {
    this.#next = otherThan(encoding);
    if (this.current === encoding) this.current = this.#next;
  }

  #askLater(): void {
    this.#state = this.#questions < MOST_QUESTIONS ? 'json' : 'for-good';
  }
}

export function otherThan(encoding: Encoding): Encoding {
  return encoding === 'json' ? 'protobuf' : 'json';
}
