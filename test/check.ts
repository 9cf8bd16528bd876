import { type Part, runAtOnce } from './support/at-once.ts';

/**
 * `npm run check`: format and lint, types, and every test that starts no process and is not long, at once. `npm test`, which
 * is this with `whole` and arguments for vitest: the same with all tests. Tests wait now and then, and the other parts use
 * the processors meanwhile.
 */
const [what, ...args] = process.argv.slice(2);
const isWhole = what === 'whole';
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const PARTS: readonly Part[] = [
  { name: 'format and lint', command: 'npm run --silent lint' },
  { name: 'types', command: 'npm run --silent typecheck' },
  isWhole
    ? { name: 'tests', command: ['vitest run', ...args.map(quoted)].join(' '), isShown: true }
    : { name: 'tests', command: 'vitest run --project unit --project worlds' },
];

if (!isWhole) process.env.SIMULATED_WORLDS ??= '500';
// The parts write to pipes, to which programs write no colours unless they are told to.
if (process.stdout.isTTY) process.env.FORCE_COLOR ??= '1';

const failed = await runAtOnce(PARTS, (text) => process.stdout.write(text));
if (failed.length > 0) {
  process.stderr.write(`${isWhole ? 'npm test' : 'npm run check'}: ${failed.join(', ')} failed\n`);
  process.exitCode = 1;
}
