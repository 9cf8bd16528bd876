/** `npm run bench`: every benchmark, one after the other. `npm run bench -- quick` leaves out the long loops. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

const BENCHMARKS: readonly { title: string; file: string; args: string[]; isLong: boolean }[] = [
  { title: 'HTTP client: ours, undici, bare sockets', file: 'http-client.ts', args: [], isLong: false },
  { title: 'Agent: CPU per check', file: 'agent-cost.ts', args: [], isLong: false },
  { title: 'Recorder: CPU per result', file: 'recorder.ts', args: [], isLong: false },
  { title: 'Roll-ups: CPU per result', file: 'rollups.ts', args: ['2000'], isLong: false },
  { title: 'Dispatch: CPU per job', file: 'dispatch.ts', args: [], isLong: false },
  { title: 'API among 10,000 monitors', file: 'api.ts', args: [], isLong: false },
  { title: 'Detection', file: 'detection.ts', args: [], isLong: true },
  { title: 'Recovery', file: 'recovery.ts', args: [], isLong: true },
  { title: 'Whole loop, 1,000 checks/s', file: 'whole-loop.ts', args: ['1000', '60'], isLong: true },
  { title: 'Whole loop, 2,000 checks/s', file: 'whole-loop.ts', args: ['2000', '60'], isLong: true },
  { title: 'Whole loop, 4,000 checks/s', file: 'whole-loop.ts', args: ['4000', '60'], isLong: true },
];

const isQuick = process.argv.includes('quick');
for (const { title, file, args, isLong } of BENCHMARKS) {
  if (isQuick && isLong) continue;
  console.log(`\n## ${title}\n`);
  const { status } = spawnSync(process.execPath, [`${FOLDER}${file}`, ...args], { stdio: 'inherit' });
  if (status !== 0) {
    console.error(`${file} failed with ${status}`);
    process.exitCode = 1;
  }
}
