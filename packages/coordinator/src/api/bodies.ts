import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import type { AttributesOf } from '../configuration/kinds/kinds.ts';
import { setIn } from './body-outline.ts';
import type { BodyAnswer, BodyRequest, Malformed, OutlinedBody } from './body-protocol.ts';
import { FairQueue } from './fair-queue.ts';
import { parsedJson } from './parsed-json.ts';
import { invalid, Problem } from './problem.ts';
import { type CheckedBody, checkedBody } from './resource-body.ts';

/**
 * Characters up to which a body is read at once: some milliseconds at worst. Larger bodies go to a thread of
 * their own, because reporting 1 MiB of mistakes takes seconds in which nothing would be scheduled.
 */
const SMALL = 4_096;
/** Characters up to which the body of a note is read, at once and whole: it has a text and some thousand ids. */
const NOTE_BODY_CHARACTERS = 64 * 1_024;
/** Most large bodies that wait: in all, and of one workspace, which must not block the others. */
const MOST_WAITING = { most: 32, mostOfOwner: 8 };
/** The thread ends when no large body came for this long, ms. */
const IDLE_MS = 60_000;
const MAX_HEAP_MIB = 512;

type Waiting = {
  readonly asked: BodyRequest;
  resolve(answer: BodyAnswer['answer']): void;
  reject(error: unknown): void;
};

/** A request body that is JSON. */
export type SentBody = {
  /** The value. Of a large body only the outline: lists and mappings in it are empty. */
  readonly value: unknown;
  /** Digest of a large body; null: `value` is the whole body. */
  readonly digest: string | null;
  /**
   * The normalized attributes of the sent resource.
   *
   * @param body `value`, in which members may have been set
   * @throws Problem with all errors, `unavailable`
   */
  attributes(kind: ResourceKind, body: unknown): Promise<AttributesOf<ResourceKind>>;
};

/** The body of a request without one. */
export const NO_BODY: SentBody = {
  value: undefined,
  digest: null,
  attributes: () => Promise.reject(new TypeError('the endpoint takes no body')),
};

/** Reads and validates the bodies of requests. */
export class Bodies {
  readonly #waiting = new FairQueue<number | null, Waiting>(MOST_WAITING);
  /** The body that the thread works on: one at a time, so that a failure on one affects no other. */
  #running: Waiting | null = null;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;

  /**
   * @param workspaceId workspace of the request
   * @param isNote whether the body is that of a note, which is read whole
   * @throws Problem `malformed-request`, `too-large` (of a note), `unavailable` (too many large bodies wait)
   */
  async read(text: string, workspaceId: number | null, isNote = false): Promise<SentBody> {
    if (isNote && text.length > NOTE_BODY_CHARACTERS)
      throw new Problem('too-large', `the body may have at most ${NOTE_BODY_CHARACTERS} characters`);
    if (text.length > SMALL && !isNote) return this.#readLarge(text, workspaceId);
    const read = parsedJson(text);
    if ('malformed' in read) throw malformed(read);
    return {
      value: read.value,
      digest: null,
      attributes: async (kind, body) => attributesIn(checkedBody(kind, body)),
    };
  }

  async #readLarge(text: string, workspaceId: number | null): Promise<SentBody> {
    const read = await this.#asked<OutlinedBody>(workspaceId, { text });
    if ('malformed' in read) throw malformed(read);
    const { outline, digest } = read;
    return {
      value: outline,
      digest,
      attributes: async (kind, body) => {
        const set = setIn(outline, body);
        return attributesIn(await this.#asked<CheckedBody>(workspaceId, { text, kind, set }));
      },
    };
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
    const ending = new Problem('unavailable', 'the service is stopping', { headers: { 'retry-after': '5' } });
    for (let next = this.#running; next !== null; next = this.#waiting.take() ?? null) next.reject(ending);
    this.#running = null;
  }

  #asked<T>(workspaceId: number | null, asked: BodyRequest): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const waiting = { asked, resolve: (answer: BodyAnswer['answer']) => resolve(answer as T), reject };
      if (this.#waiting.push(workspaceId, waiting)) this.#next();
      else reject(tooMany());
    });
  }

  #next(): void {
    if (this.#running !== null) return;
    this.#running = this.#waiting.take() ?? null;
    if (this.#running === null) this.#endWhenIdle();
    else this.#started().postMessage(this.#running.asked);
  }

  #started(): Worker {
    clearTimeout(this.#idle);
    if (this.#worker !== null) return this.#worker;
    // A limit on the command line is for the main thread, which has applied it by now.
    setFlagsFromString('--max-old-space-size=0');
    const worker = new Worker(new URL('./body-worker.ts', import.meta.url), {
      name: 'bodies',
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    });
    worker.unref();
    worker.on('message', ({ answer }: BodyAnswer) => this.#ended(({ resolve }) => resolve(answer)));
    worker.on('error', (error) => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#ended(({ reject }) => reject(error));
    });
    this.#worker = worker;
    return worker;
  }

  #ended(settle: (waiting: Waiting) => void): void {
    const ended = this.#running;
    this.#running = null;
    if (ended !== null) settle(ended);
    this.#next();
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      void this.#worker?.terminate();
      this.#worker = null;
    }, IDLE_MS).unref();
  }
}

function malformed({ malformed: message }: Malformed): Problem {
  return new Problem('malformed-request', message, { errors: [{ pointer: '', message }] });
}

function attributesIn(checked: CheckedBody): AttributesOf<ResourceKind> {
  if ('attributes' in checked) return checked.attributes;
  throw invalid(checked.issues, checked.count);
}

function tooMany(): Problem {
  return new Problem('unavailable', 'too many large bodies are being read at this moment', {
    headers: { 'retry-after': '1' },
  });
}
