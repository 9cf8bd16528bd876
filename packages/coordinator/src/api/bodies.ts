import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import type { AttributesOf } from '../configuration/kinds.ts';
import type { BodyAnswer, BodyRequest, ReadBody } from './body-protocol.ts';
import { parsedJson } from './parsed-json.ts';
import { invalid, Problem } from './problem.ts';
import { type CheckedBody, checkedBody } from './resource-body.ts';

/**
 * Characters up to which a body is read at once: some milliseconds at worst. What is larger goes to a thread of its
 * own: 1 MiB of mistakes takes seconds to tell, in which nothing would be scheduled.
 */
const SMALL = 4_096;
/** Large bodies that wait at most. */
const MOST_WAITING = 16;
/** The thread ends when nothing large came for this long, ms. */
const IDLE_MS = 60_000;
const MAX_HEAP_MIB = 512;

type Waiting = { resolve(answer: BodyAnswer['answer']): void; reject(error: unknown): void };

/** Reads and validates the bodies of requests. */
export class Bodies {
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #lastId = 0;
  #idle: NodeJS.Timeout | undefined;

  /** @throws Problem `malformed-request`, `unavailable` (too many large ones wait) */
  async read(text: string): Promise<unknown> {
    const read = text.length <= SMALL ? parsedJson(text) : await this.#asked<ReadBody>({ text });
    if ('value' in read) return read.value;
    const errors = [{ pointer: '', message: read.malformed }];
    throw new Problem('malformed-request', read.malformed, { errors });
  }

  /**
   * The normalized attributes of a declared resource that was sent.
   *
   * @param size characters of its text
   * @throws Problem with all that is wrong, `unavailable`
   */
  async attributes(kind: ResourceKind, body: unknown, size: number): Promise<AttributesOf<ResourceKind>> {
    const checked = size <= SMALL ? checkedBody(kind, body) : await this.#asked<CheckedBody>({ kind, body });
    if ('attributes' in checked) return checked.attributes;
    throw invalid(checked.issues, checked.count);
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
    this.#fail(new Problem('unavailable', 'the service is ending', { headers: { 'retry-after': '5' } }));
  }

  #asked<T>(request: { text: string } | { kind: ResourceKind; body: unknown }): Promise<T> {
    if (this.#waiting.size >= MOST_WAITING) {
      throw new Problem('unavailable', 'many large bodies are being read at this moment', {
        headers: { 'retry-after': '1' },
      });
    }
    this.#lastId += 1;
    const id = this.#lastId;
    const worker = this.#started();
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve: (answer) => resolve(answer as T), reject });
      worker.postMessage({ id, ...request } satisfies BodyRequest);
    });
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
    worker.on('message', ({ id, answer }: BodyAnswer) => {
      this.#waiting.get(id)?.resolve(answer);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#endWhenIdle();
    });
    worker.on('error', (error) => {
      if (this.#worker === worker) this.#worker = null;
      this.#fail(error);
    });
    this.#worker = worker;
    return worker;
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      void this.#worker?.terminate();
      this.#worker = null;
    }, IDLE_MS).unref();
  }

  #fail(error: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
