/**
 * Measures the cost of 28 regions compared with one region while nothing happens. One process reads so many empty
 * streams and listens to so many regions, each over a connection of its own. The NATS server is measured too.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { agentsSubject, resultsStream } from '@svc/shared/messages/subjects.ts';
import { connectBus } from '@svc/shared/nats-bus.ts';
import { NatsResultStreams } from '@svc/shared/nats-result-streams.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import { pino } from 'pino';
import { startNatsServer } from '../support/nats-server.ts';
import { Children } from './children.ts';
import { machine } from './machine.ts';
import { cpuMs, residentMiB } from './process-usage.ts';
import { formatTable } from './table.ts';

const SETTLE_MS = 5_000;
const MEASURE_MS = 30_000;
const STREAM_BYTES = 16 * 1024 ** 2;

/** The measured process. It prints a line when it reads and listens. */
async function idle(url: string, count: number): Promise<void> {
  const bus = await connectBus({ url, name: 'bench', log: pino({ level: 'silent' }) });
  const streams = new NatsResultStreams(bus);
  for (const region of REGIONS.slice(0, count)) {
    await streams.ensure(region, { maxBytes: STREAM_BYTES });
    await streams.read(
      resultsStream(region),
      1,
      () => {},
      () => process.exit(1),
    );
    const apart = await bus.subscribeApart(
      agentsSubject(region),
      () => {},
      () => process.exit(1),
    );
    await apart.flush();
  }
  console.log('ready');
}

async function measure(count: number): Promise<string[]> {
  const children = new Children();
  const nats = await startNatsServer();
  try {
    const { pid } = await children.node(fileURLToPath(import.meta.url), [nats.url, String(count)]);
    await delay(SETTLE_MS);
    const before = [cpuMs(pid), cpuMs(nats.pid)] as const;
    await delay(MEASURE_MS);
    const perSecond = (ms: number) => (ms / (MEASURE_MS / 1_000)).toFixed(2);
    return [
      String(count),
      perSecond(cpuMs(pid) - before[0]),
      perSecond(cpuMs(nats.pid) - before[1]),
      residentMiB(pid).toFixed(1),
      residentMiB(nats.pid).toFixed(1),
    ];
  } finally {
    await children.endAll();
    await nats.dispose();
  }
}

const [url, count] = process.argv.slice(2);
if (url !== undefined && count !== undefined) {
  await idle(url, Number(count));
} else {
  const rows: string[][] = [];
  for (const regions of [0, 1, REGIONS.length]) rows.push(await measure(regions));
  console.log(machine());
  const HEAD = ['regions', 'CPU ms/s', 'CPU ms/s of NATS', 'MiB', 'MiB of NATS'];
  console.log(formatTable(HEAD, rows));
}
