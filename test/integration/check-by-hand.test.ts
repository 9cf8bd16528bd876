/**
 * The coordinator waits for a check by hand as long as its agent may take. After a time-out, the agent needs
 * further time to find out whether its own network is down.
 */

import { References } from '@svc/agent/network/references.ts';
import { NetworkWatch } from '@svc/agent/network/watch.ts';
import { ManualRuns } from '@svc/coordinator/checks/manual-runs.ts';
import type { Check } from '@svc/shared/messages/check.ts';
import type { RunOutcome } from '@svc/shared/messages/heartbeat.ts';
import { runSubject } from '@svc/shared/messages/subjects.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, expect, test } from 'vitest';
import { FRA, log } from '../support/coordinator/dispatch-parts.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { MemoryBus } from '../support/memory-bus.ts';

const TIMEOUT_MS = 1_000;
const CHECK: Check = { type: 'tcp', uri: '203.0.113.9:80', timeout: TIMEOUT_MS, retry: 0, degraded_at: 0 };

const clock = new FakeClock();
const bus = new MemoryBus();
let isGone = false;
const references = new References({
  list: () => [
    {
      name: 'the gateway',
      askReference: async (signal, heard) => {
        if (isGone) await new Promise((aborted) => signal.addEventListener('abort', aborted));
        else heard(4);
      },
    },
  ],
  clock,
  log,
});
const watch = new NetworkWatch({ references, clock });
const runs = new ManualRuns({ bus, clock });

afterEach(async () => {
  runs.stop();
  await references.stop();
});

/**
 * Acts as the agent: its attempt times out, and it answers when it knows whether its own network is the
 * cause.
 */
function answerAsAgent(travelMs: number): void {
  bus.subscribe(`svc.jobs.${FRA}`, ({ data }) => {
    const { run } = JSON.parse(Buffer.from(data).toString()) as { run: string };
    const startedAt = clock.monotonic();
    const failed = { outcome: 'failed', latency: TIMEOUT_MS, phases: {}, timedOut: true } as const;
    clock.after(travelMs / 2 + TIMEOUT_MS, () => {
      void watch.seen(CHECK, failed, startedAt)?.then((reason) => {
        const result: RunOutcome['result'] =
          reason === null
            ? { outcome: 'failed', started_at: 0, attempts: [] }
            : { outcome: 'not_run', reason, started_at: 0, attempts: [] };
        const outcome: RunOutcome = { v: 1, kind: 'run_outcome', agent: 'agent-1', result };
        clock.after(travelMs / 2, () => bus.publish(runSubject(FRA, run), JSON.stringify(outcome)));
      });
    });
  });
}

test("the longest case: none of the agent's references answers, and the region is far away", async () => {
  references.start();
  await clock.advanceSettling(60_000);
  isGone = true;
  runs.start();
  answerAsAgent(1_000);
  const running = runs.run(new Secret(JSON.stringify(CHECK)), [FRA], TIMEOUT_MS);
  await clock.advanceSettling(30_000);
  expect(await running).toMatchObject([
    { region: FRA, agent: 'agent-1', result: { outcome: 'not_run', reason: 'network-down' } },
  ]);
});
