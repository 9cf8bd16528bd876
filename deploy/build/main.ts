import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildAll } from './build-all.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: `${ROOT}dist` },
    'no-standalone': { type: 'boolean', default: false },
  },
});

await buildAll({
  root: ROOT,
  outDir: values.out,
  withStandalone: !values['no-standalone'],
  report: (line) => process.stdout.write(`${line}\n`),
});
