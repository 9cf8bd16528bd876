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
 * Characters up to which a body is read at once: some milliseconds at worst. What is larger goes to a thread of its
 * own: 1 MiB of mistakes takes seconds to tell, in which nothing would be scheduled.
 */
const SMALL = 4_096;
/** Large bodies that wait at most: in all, and of one workspace, which must not shut the others out. */
const MOST_WAITING = { most: 32, mostOfOwner: 8 };
/** The thread ends when nothing large came for this long, ms. */
const IDLE_MS = 60_000;
const MAX_HEAP_MIB = 512;

type Waiting = {
  readonly asked: BodyRequest;
  resolve(answer: BodyAnswer['answer']): void;
  reject(error: unknown): void;
};

/** A body that is JSON. */
export type SentBody = {
  /** Of a large one the outline: lists and mappings in it are empty. */
  readonly value: unknown;
  /** Stands for the whole of a large one; null: `value` is all of it. */
  readonly digest: string | null;
  /**
   * The normalized attributes of the declared resource that was sent.
   *
   * @param body `value`, in which members may have been set
   * @throws Problem with all that is wrong, `unavailable`
   */
  attributes(kind: ResourceKind, body: unknown): Promise<AttributesOf<ResourceKind>>;
};

/** Of a request without a body. */
export const NO_BODY: SentBody = {
  value: undefined,
  digest: null,
  attributes: () => Promise.reject(new TypeError('the endpoint takes no body')),
};

/** Reads and validates the bodies of requests. */
export class Bodies {
  readonly #waiting = new FairQueue<number | null, Waiting>(MOST_WAITING);
  /** What the thread works on: one at a time, so that a body it fails on takes no other along. */
  #running: Waiting | null = null;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;

  /**
   * @param workspaceId whose request it is
   * @throws Problem `malformed-request`, `unavailable` (too many large ones wait)
   */
  async read(text: string, workspaceId: number | null): Promise<SentBody> {
    if (text.length > SMALL) return this.#readLarge(text, workspaceId);
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
    const ending = new Problem('unavailable', 'the service is ending', { headers: { 'retry-after': '5' } });
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
    // A limit on the command line is meant for the main thread, which has taken it by now.
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
  return new Problem('unavailable', 'many large bodies are being read at this moment', {
    headers: { 'retry-after': '1' },
  });
}
