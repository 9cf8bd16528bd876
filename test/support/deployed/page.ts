import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../process.ts';

/** The commands below a heading of `docs/deployment.md`. @throws Error where there is no such heading */
export function commandsUnder(heading: string): string[] {
  const page = readFileSync(join(ROOT, 'docs/deployment.md'), 'utf8');
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`the page has no section "${heading}"`);
  return [...section.matchAll(/^ {4}(\S.*)$/gm)].map(([, line = '']) => line);
}
