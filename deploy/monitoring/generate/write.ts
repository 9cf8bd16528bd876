/** Writes the generated files of `deploy/monitoring/`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { monitoringFiles } from './files.ts';

const folder = new URL('../', import.meta.url);
for (const [path, text] of monitoringFiles()) {
  const file = new URL(path, folder);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, text);
}
