import type { TestContext } from 'vitest';
import { type HttpTarget, startHttpTarget } from './http-target.ts';
import { LocalService, type LocalServiceOptions } from './local-service.ts';
import { type Receiver, startReceiver } from './receiver.ts';

/** The objects that a test has opened. They are closed when the test has ended, the last opened first. */
export type Opened = { close(): Promise<void> }[];

/**
 * Returns a list whose members are closed at the end of the test.
 * Tests that run side by side share nothing, so each has its own list.
 */
export function openedIn(context: TestContext): Opened {
  const opened: Opened = [];
  context.onTestFinished(async () => {
    for (const one of opened.toReversed()) await one.close();
  });
  return opened;
}

export async function targetIn(opened: Opened): Promise<HttpTarget> {
  const started = await startHttpTarget();
  opened.push(started);
  return started;
}

export async function receiverIn(opened: Opened): Promise<Receiver> {
  const started = await startReceiver();
  opened.push(started);
  return started;
}

/** A declared channel that alerts the receiver about these monitors: `svc_http_monitor.web`. */
export function hookOf({ url }: { readonly url: string }, ...monitors: string[]) {
  return {
    provider_type: 'webhook',
    webhook: { endpoint: url },
    monitor_ids: monitors.map((monitor) => `\${${monitor}.id}`),
  };
}

export async function serviceIn(opened: Opened, options: LocalServiceOptions): Promise<LocalService> {
  const service = await LocalService.start(options);
  opened.push({ close: () => service.dispose() });
  return service;
}
