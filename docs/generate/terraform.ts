/** Part of `npm run docs`: the pages of the Terraform provider. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { terraformPages } from './terraform-pages.ts';

const folder = new URL('../terraform/', import.meta.url);
rmSync(folder, { recursive: true, force: true });
for (const [path, text] of terraformPages()) {
  const file = new URL(path, folder);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, text);
}
