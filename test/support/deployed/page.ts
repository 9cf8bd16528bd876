import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../process.ts';

/**
 * The commands below a heading of a page, up to the next heading.
 *
 * @throws Error where there is no such heading
 */
export function commandsUnder(heading: string, page = 'docs/deployment.md'): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const section = text.split(/^#{2,3} /m).find((each) => each.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`${page} has no section "${heading}"`);
  return [...section.matchAll(/^ {4}(\S.*)$/gm)].map(([, line = '']) => line);
}
