import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import type { AttributesOf } from '../configuration/kinds.ts';
import type { BodyAnswer, BodyRequest, ReadBody } from './body-protocol.ts';
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

type Asked = { readonly text: string } | { readonly kind: ResourceKind; readonly body: unknown };
type Waiting = {
  readonly asked: Asked;
  resolve(answer: BodyAnswer['answer']): void;
  reject(error: unknown): void;
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
  async read(text: string, workspaceId: number | null): Promise<unknown> {
    const read = text.length <= SMALL ? parsedJson(text) : await this.#asked<ReadBody>(workspaceId, { text });
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
  async attributes(
    { kind, body }: { readonly kind: ResourceKind; readonly body: unknown },
    size: number,
    workspaceId: number | null,
  ): Promise<AttributesOf<ResourceKind>> {
    const checked =
      size <= SMALL ? checkedBody(kind, body) : await this.#asked<CheckedBody>(workspaceId, { kind, body });
    if ('attributes' in checked) return checked.attributes;
    throw invalid(checked.issues, checked.count);
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

  #asked<T>(workspaceId: number | null, asked: Asked): Promise<T> {
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
    else this.#started().postMessage(this.#running.asked satisfies BodyRequest);
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

function tooMany(): Problem {
  return new Problem('unavailable', 'many large bodies are being read at this moment', {
    headers: { 'retry-after': '1' },
  });
}
