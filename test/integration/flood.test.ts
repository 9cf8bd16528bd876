/**
 * An attacker with the key of one region sends everything that the server allows. Other regions keep working.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { MAX_AGENT_MESSAGE_BYTES, MAX_HEARTBEAT_BYTES } from '@svc/shared/messages/heartbeat.ts';
import { heartbeatSubject, resultsSubject } from '@svc/shared/messages/subjects.ts';
import type { Region } from '@svc/shared/regions.ts';
import { describe, expect, test } from 'vitest';
import type { LocalService } from '../support/local-service.ts';
import { natsAccounts } from '../support/nats-accounts.ts';
import { type Opened, openedIn, serviceIn, targetIn } from '../support/opened.ts';

const FLOODED: Region = 'hosta-fra';
const OTHERS: readonly Region[] = ['hostb-par', 'hostc-us-east4'];
const REGIONS = [FLOODED, ...OTHERS];
/**
 * Maximum memory outside of the heap, bytes. It includes messages that were read and are not collected yet.
 * The test sends gigabytes.
 */
const MOST_MEMORY = 256 * 1_024 ** 2;
/**
 * Speed of the service's clock. An agent counts as gone after 6.5 s of this clock, and a busy machine must
 * not delay its heartbeats for so long.
 */
const SPEED = 2;

/** Number of monitors of each kind. Their slots are spread over the period, so the next slot of one of them comes soon. */
const MONITORS = 6;

const LONG = { what: 'the longest', bytes: MAX_HEARTBEAT_BYTES - 64 };
const SHORT = { what: 'short ones', bytes: 16 };

async function start(opened: Opened) {
  const web = await targetIn(opened);
  const accounts = natsAccounts(REGIONS);
  const monitorOf = (name: string, regions: readonly Region[]) => ({
    name,
    url: web.url,
    periodicity: '30s',
    active: true,
    retry: 0,
    regions,
  });
  const numbers = Array.from({ length: MONITORS }, (_, index) => index);
  const service = await serviceIn(opened, {
    regions: REGIONS,
    scale: SPEED,
    accounts,
    declared: {
      svc_http_monitor: Object.fromEntries(
        numbers.flatMap((number) => [
          [`others${number}`, monitorOf('others', OTHERS)],
          [`flooded${number}`, monitorOf('flooded', [FLOODED])],
        ]),
      ),
    },
  });
  await service.changed('others', 'active');
  await service.changed('flooded', 'active');
  return { service, seed: accounts.seedOf(FLOODED) };
}

function startFlood(opened: Opened, { nats }: LocalService, seed: string, bytes: number, subject: string) {
  const script = join(import.meta.dirname, '../support/flood.ts');
  const flood = spawn(process.execPath, [script, nats.url, subject, String(bytes), '20'], {
    env: { ...process.env, SEED: seed },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const stop = async () => void flood.kill('SIGKILL');
  opened.push({ close: stop });
  const told = createInterface({ input: flood.stdout });
  return {
    stop,
    /** Resolves when the server has read this number of its messages. */
    async sent(messages: number): Promise<void> {
      for await (const count of told) if (Number(count) >= messages) return;
      throw new Error('the flood ended by itself');
    },
  };
}

/** Watches this process's memory outside of the heap, where messages are. */
function watchMemory(opened: Opened): () => number {
  const before = process.memoryUsage().arrayBuffers;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers);
  }, 20);
  opened.push({ close: async () => clearInterval(timer) });
  return () => most - before;
}

/**
 * Resolves when each of the regions has checked monitors since then, without a failure. Lateness, and checks
 * that a busy machine does not run, are subjects of the benchmarks.
 */
async function goesOn(service: LocalService, regions: readonly Region[], since: number): Promise<void> {
  const results = async () => {
    const rows = await service.query<{ region: Region; outcome: string }>(
      "SELECT DISTINCT region, outcome FROM results WHERE slot > ? AND outcome <> 'not_run' ORDER BY region",
      since,
    );
    return rows.filter(({ region }) => regions.includes(region));
  };
  await service.until(
    async () => new Set((await results()).map(({ region }) => region)).size === regions.length,
  );
  expect(await results()).toEqual(regions.map((region) => ({ region, outcome: 'passed' })));
}

describe.each([LONG, SHORT])(
  'a flood of heartbeats, $what, over 20 connections of one region',
  ({ bytes }) => {
    test('disturbs neither other regions nor the other agents of its region', async (context) => {
      const opened = openedIn(context);
      const { service, seed } = await start(opened);
      const memory = watchMemory(opened);

      const flood = startFlood(opened, service, seed, bytes, heartbeatSubject(FLOODED, '#'));
      await flood.sent(30_000);
      const since = service.clock.wall();
      await goesOn(service, REGIONS, since);
      await flood.stop();

      expect(service.said.get('lost the connection to NATS')).toBeUndefined();
      expect(service.said.get('a region that monitors declare has lost its last agent')).toBeUndefined();
      expect(memory()).toBeLessThan(MOST_MEMORY);
      expect(service.transitions.map(({ to }) => to)).not.toContain('unknown');
    });
  },
);

describe.each([
  // These are more bytes than all streams together hold.
  { what: 'as long as a batch may be', bytes: 250 * 1_024, messages: 3_000, isTaken: true },
  { what: 'larger than the stream takes', bytes: MAX_AGENT_MESSAGE_BYTES, messages: 1_000, isTaken: false },
  { what: 'short', bytes: 16, messages: 30_000, isTaken: true },
])(
  'a flood of what is no result, $what, over 20 connections of one region',
  ({ bytes, messages, isTaken }) => {
    test('evicts, delays and disconnects nothing of another region', async (context) => {
      const opened = openedIn(context);
      const { service, seed } = await start(opened);
      const memory = watchMemory(opened);

      const flood = startFlood(opened, service, seed, bytes, resultsSubject(FLOODED));
      await flood.sent(messages);
      const read = () => service.metric('svc_result_messages_dropped_total{reason="malformed"}');
      if (isTaken) await expect.poll(read).toBeGreaterThan(100);
      await goesOn(service, OTHERS, service.clock.wall());
      await flood.stop();
      if (!isTaken) expect(await read()).toBeLessThanOrEqual(100);

      expect(service.said.get('lost the connection to NATS')).toBeUndefined();
      expect(memory()).toBeLessThan(MOST_MEMORY);
      expect(service.transitions.map(({ monitor, to }) => [monitor.name, to])).not.toContainEqual([
        'others',
        'unknown',
      ]);
    });
  },
);
