import { setImmediate } from 'node:timers/promises';
import type { ExportSettings, ExportTarget } from '@svc/coordinator/export/export-settings.ts';
import { Pipeline } from '@svc/coordinator/export/pipeline.ts';
import { newTotals } from '@svc/coordinator/export/totals.ts';
import { createHttpPost } from '@svc/coordinator/outgoing/http-post.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { NO_EXPORT_SETTINGS } from '../export-settings.ts';
import { FakeClock } from '../fake-clock.ts';
import { OtlpReceiver } from '../otlp-receiver.ts';
import { liveMonitor } from './dispatch-parts.ts';

export const INTERVAL_MS = 60_000;
/** Number of points of a monitor that was not checked yet: one for each status that it may have. */
export const POINTS = 4;
/** Everything that the test closes at its end. */
export const closing: (() => unknown)[] = [];

/** Call it after each test. */
export async function closeAll(): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}

export async function receive(): Promise<OtlpReceiver> {
  const receiver = await OtlpReceiver.start();
  closing.push(() => receiver.close());
  return receiver;
}

type More = Partial<ExportTarget> &
  Partial<Pick<ExportSettings, 'encoding' | 'isCompressed'>> & {
    readonly requests?: number;
    readonly allow?: readonly string[];
    readonly timeoutMs?: number;
  };

/** A pipeline that exports, at each interval, `requests` requests of one monitor each. */
export function pipelineTo(url: string, more: More = {}) {
  const clock = new FakeClock();
  const { requests = 1, allow = ['127.0.0.0/8'], timeoutMs = 15_000 } = more;
  const { encoding = 'json', isCompressed = true, ...target } = more;
  /** The monitors of each request that was made. */
  const made: number[] = [];
  const errors: unknown[] = [];
  const parts: ConstructorParameters<typeof Pipeline>[0] = {
    target: {
      key: 'k',
      url: `${url}/v1/metrics`,
      headers: [{ key: 'Authorization', value: 'Bearer secret-token' }],
      workspaceId: 1,
      ...target,
    },
    settings: { ...NO_EXPORT_SETTINGS, encoding, isCompressed, intervalMs: INTERVAL_MS },
    post: createHttpPost({
      clock,
      guard: createEgressGuard({ base: 'channel', deny: [], allow: [...allow] }),
      timeoutMs,
    }),
    clock,
    batches: () => Array.from({ length: requests }, (_, index) => [index + 1]),
    async read(ids) {
      made.push(...ids);
      return ids.map((id) => ({ monitor: liveMonitor(id), totals: newTotals('', 0), history: [] }));
    },
    turn: () => setImmediate(),
    onError: (error) => errors.push(error),
  };
  const pipeline = new Pipeline(parts);
  closing.push(() => pipeline.stop());
  void pipeline.run(0);
  clock.advance(1);
  return { pipeline, clock, made, errors, parts };
}
