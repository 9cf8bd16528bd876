import { type Part, runAtOnce } from './support/at-once.ts';

/**
 * `npm run check`: format and lint, types, and every test that starts no process and is not long, at once. Tests wait
 * now and then, and the other parts use the processors meanwhile. `npm test` is the same with all tests, `--all`; further
 * arguments are Vitest's.
 */
const [scope, ...vitestArguments] = process.argv.slice(2);
const isAll = scope === '--all';

const PARTS: readonly Part[] = [
  { name: 'format and lint', command: 'npm run --silent lint' },
  { name: 'types', command: 'npm run --silent typecheck' },
  isAll
    ? {
        name: 'tests',
        command: ['vitest run', ...vitestArguments.map(quoted)].join(' '),
        isShownAsItComes: true,
      }
    : { name: 'tests', command: 'vitest run --project unit --project simulation --project worlds' },
];

if (!isAll) process.env.SIMULATED_WORLDS ??= '1000';
// The parts write to pipes, to which programs write no colours unless they are told to.
if (process.stdout.isTTY) process.env.FORCE_COLOR ??= '1';

const failed = await runAtOnce(PARTS, (text) => process.stdout.write(text));
if (failed.length > 0) {
  process.stderr.write(`npm ${isAll ? 'test' : 'run check'}: ${failed.join(', ')} failed\n`);
  process.exitCode = 1;
}

/** An argument for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
