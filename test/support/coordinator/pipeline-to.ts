import { Attributes, NO_ATTRIBUTES } from '@svc/coordinator/export/attributes.ts';
import { createEncoder } from '@svc/coordinator/export/encoders.ts';
import { type ExportTarget, Pipeline } from '@svc/coordinator/export/pipeline.ts';
import { encodeLog } from '@svc/coordinator/export/point-log.ts';
import type { CollectedForm } from '@svc/coordinator/export/request-encoder.ts';
import { createHttpPost } from '@svc/coordinator/outgoing/http-post.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { expect } from 'vitest';
import { FakeClock } from '../fake-clock.ts';
import { OtlpReceiver } from '../otlp-receiver.ts';

export const INTERVAL_MS = 60_000;
/** What the test closes at its end. */
export const closing: (() => unknown)[] = [];
/** Posts without an answer. */
let underWay = 0;

export const postsUnderWay = (): number => underWay;

/** Call it after each test. */
export async function closeAll(): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}

export async function receive(): Promise<OtlpReceiver> {
  const receiver = await OtlpReceiver.start();
  closing.push(() => receiver.close());
  return receiver;
}

/** A pipeline whose collections are `requests` requests of one point each. */
export function pipelineTo(
  url: string,
  more: Partial<ExportTarget> & { requests?: number; allow?: string[]; timeoutMs?: number } = {},
) {
  const clock = new FakeClock();
  const { requests = 1, allow = ['127.0.0.0/8'], timeoutMs = 15_000, ...target } = more;
  const collected: CollectedForm[] = [];
  const encoderOf = (form: CollectedForm, at = clock.wall()) =>
    createEncoder(form, {
      resource: new Attributes([]),
      scope: { name: 's', version: '1' },
      histograms: 'exponential',
      at,
    });
  const collect = function* (form: CollectedForm) {
    for (let index = 0; index < requests; index += 1) {
      collected.push(form);
      const encoder = encoderOf(form);
      encoder.beginMonitor([['part', index]], clock.wall());
      encoder.gauge('uptime', NO_ATTRIBUTES, 1);
      yield { body: encoder.finish(), points: 1 };
    }
  };
  const guard = createEgressGuard({ base: 'channel', deny: [], allow });
  const post = createHttpPost({ clock, guard, timeoutMs });
  const pipeline = new Pipeline({
    target: {
      key: 'k',
      url: `${url}/v1/metrics`,
      headers: [{ key: 'Authorization', value: 'Bearer secret-token' }],
      workspaceId: 1,
      encoding: 'json',
      isEncodingOpen: false,
      isCompressed: true,
      ...target,
    },
    async post(request) {
      underWay += 1;
      return post(request).finally(() => {
        underWay -= 1;
      });
    },
    clock,
    intervalMs: INTERVAL_MS,
    endpoints: () => 1,
    collect,
    encode: (log, encoding) => encodeLog(log, 'exponential', (at) => encoderOf(encoding, at)).finish(),
  });
  closing.push(() => pipeline.stop());
  pipeline.start(0);
  clock.advance(1);
  return { pipeline, clock, collected };
}

/**
 * Resolves when `state` answers `expected` and the collection has ended: the next interval begins another. No more posts
 * are under way then than the endpoint holds, so that the next interval is not what ends them.
 */
export async function collected<T>(state: () => T, expected: T, held = 0): Promise<void> {
  await expect.poll(() => [underWay, state()]).toEqual([held, expected]);
  for (const _ of [1, 2]) await new Promise((resume) => setImmediate(resume));
}
