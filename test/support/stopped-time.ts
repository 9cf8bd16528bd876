import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, vi } from 'vitest';
import type { DnsTestServer } from './dns-server.ts';

/**
 * Stops the time for the tests of the block: it passes only when a test lets it pass. So no
 * wait ends, however long the machine stands still. `setImmediate` and sockets continue.
 */
export function underStoppedTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}

/** Lets `ms` pass when the server has received this number of questions, and its answers were read. */
export async function passAfter(server: DnsTestServer, questions: number, ms: number): Promise<void> {
  while (server.requests.length < questions) await nextTurn();
  // The answers are in the sockets of this process by then.
  await nextTurn();
  vi.advanceTimersByTime(ms);
}
