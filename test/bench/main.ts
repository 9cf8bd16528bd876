/**
 * Runs benchmarks. `npm run bench` runs all of them, one after the other. `npm run bench -- quick` leaves
 * out the long loops. `npm run bench -- api memory` runs the benchmarks of these files. `node
 * test/bench/pair.ts` compares the whole loop of two checkouts, and needs the path of the other checkout.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

const BENCHMARKS: readonly { title: string; file: string; args: string[]; isLong: boolean }[] = [
  { title: 'HTTP client: ours, undici, bare sockets', file: 'http-client.ts', args: [], isLong: false },
  { title: 'Agent: CPU per check', file: 'agent-cost.ts', args: [], isLong: false },
  { title: 'Agent: CPU per HTTPS check', file: 'https.ts', args: [], isLong: true },
  { title: '4,000 HTTPS checks at once', file: 'https-at-once.ts', args: [], isLong: true },
  { title: 'Agent: CPU per DNS check', file: 'dns.ts', args: [], isLong: true },
  { title: 'Recorder: CPU per result', file: 'recorder.ts', args: [], isLong: false },
  { title: 'Export over OTLP: CPU per check', file: 'otlp.ts', args: ['1000', '60', '3', '4'], isLong: true },
  { title: 'Roll-ups: CPU per result', file: 'rollups.ts', args: ['2000'], isLong: false },
  { title: 'API among 10,000 monitors', file: 'api.ts', args: [], isLong: false },
  {
    title: 'First byte of the dashboard among 10,000 monitors',
    file: 'dashboard.ts',
    args: [],
    isLong: false,
  },
  { title: 'A status page of 50 components', file: 'status-page.ts', args: [], isLong: false },
  { title: 'A status page beside 1,000 checks/s', file: 'status-page-beside.ts', args: [], isLong: true },
  { title: 'Large bodies: the longest turn', file: 'large-bodies.ts', args: [], isLong: false },
  { title: 'First result of npm start', file: 'quick-start.ts', args: [], isLong: false },
  { title: 'Memory of little to do', file: 'memory.ts', args: [], isLong: true },
  { title: 'Starts with 100,000 monitors', file: 'large-start.ts', args: [], isLong: true },
  { title: 'What a start reads of 100,000 monitors', file: 'start-reads.ts', args: [], isLong: true },
  { title: '100,000 monitors while they are checked', file: 'large-memory.ts', args: [], isLong: true },
  { title: 'Memory over an hour', file: 'growth.ts', args: [], isLong: true },
  { title: 'Detection', file: 'detection.ts', args: [], isLong: true },
  { title: 'Recovery', file: 'recovery.ts', args: [], isLong: true },
  { title: 'Take-overs between two coordinators', file: 'take-overs.ts', args: [], isLong: true },
  { title: 'A disk that stalls', file: 'slow-disk.ts', args: ['1000', '30'], isLong: true },
  { title: 'Overload, and after it', file: 'overload.ts', args: [], isLong: true },
  { title: 'Whole loop, 1,000 checks/s', file: 'whole-loop.ts', args: ['1000', '60'], isLong: true },
  { title: 'Whole loop, 2,000 checks/s', file: 'whole-loop.ts', args: ['2000', '60'], isLong: true },
  { title: 'Whole loop, 4,000 checks/s', file: 'whole-loop.ts', args: ['4000', '60'], isLong: true },
];

const asked = process.argv.slice(2);
for (const { title, file, args } of chosen()) {
  console.log(`\n## ${title}\n`);
  const { status } = spawnSync(process.execPath, [`${FOLDER}${file}`, ...args], { stdio: 'inherit' });
  if (status !== 0) {
    console.error(`${file} failed with ${status}`);
    process.exitCode = 1;
  }
}

function chosen() {
  if (asked.length === 0) return BENCHMARKS;
  if (asked.includes('quick')) return BENCHMARKS.filter(({ isLong }) => !isLong);
  const unknown = asked.find((name) => !BENCHMARKS.some(({ file }) => file === `${name}.ts`));
  if (unknown !== undefined) {
    const names = new Set(BENCHMARKS.map(({ file }) => file.replace('.ts', '')));
    throw new Error(`no benchmark "${unknown}"; there are: ${[...names].join(', ')}`);
  }
  return BENCHMARKS.filter(({ file }) => asked.includes(file.replace('.ts', '')));
}
