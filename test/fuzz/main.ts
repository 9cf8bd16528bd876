import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { fuzz } from './fuzz.ts';
import { reportOf } from './report.ts';
import { TARGETS } from './targets.ts';

const USAGE = `npm run fuzz -- [--seconds N] [--seed S] [--only NAME]

  --seconds  of CPU time for all parsers together (default 60)
  --seed     of the first case (default: a random one, which is printed); the next cases count on from it
  --only     one parser: ${TARGETS.map(({ name }) => name).join(', ')}
`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(randomInt(2 ** 32)) },
    only: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
const chosen = TARGETS.filter(({ name }) => values.only === undefined || name === values.only);
if (values.help || chosen.length === 0 || !(seconds > 0) || !Number.isSafeInteger(seed)) {
  process.stdout.write(USAGE);
  process.exit(values.help ? 0 : 2);
}

process.stdout.write(`seed ${seed}\n`);
for (const target of chosen) {
  const { cases, finding } = await fuzz(target, seed, (seconds * 1_000) / chosen.length);
  process.stdout.write(`${target.name.padEnd(18)} ${cases} cases\n`);
  if (finding !== null) {
    process.stdout.write(`${reportOf(finding)}\n`);
    process.exitCode = 1;
  }
}
