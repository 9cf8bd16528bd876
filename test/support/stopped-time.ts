import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, vi } from 'vitest';
import type { DnsTestServer } from './dns-server.ts';

/**
 * In the tests of the block, time stands still but for what they let pass: no wait ends, however long the machine stands
 * still. `setImmediate` and sockets go on.
 */
export function underStoppedTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}

/** Lets `ms` pass when the server has got so many questions, and its answers to them were read. */
export async function passAfter(server: DnsTestServer, questions: number, ms: number): Promise<void> {
  while (server.requests.length < questions) await nextTurn();
  // What it has answered lies in the sockets of this process by then.
  await nextTurn();
  vi.advanceTimersByTime(ms);
}
