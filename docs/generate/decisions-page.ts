import { globSync, readFileSync } from 'node:fs';

const DECISIONS = new URL('../decisions/', import.meta.url);

/** The headings of the index, in its order. */
export const AREAS = [
  'Tools and operation',
  'Declared resources',
  'HTTP API',
  'Secrets and access',
  'Store',
  'Verdicts',
  'Dispatch',
  'Messages and NATS',
  'Agent',
  'Probes',
  'Alerts',
  'Export',
  'Pages and dashboard',
  'Terraform',
  'Tests',
] as const;

/** `docs/decisions/README.md`: a line for each record under its area, in the order of the numbers. */
export function decisionsPage(): string {
  const records = globSync('[0-9][0-9][0-9][0-9]-*.md', { cwd: DECISIONS }).sort().map(recordIn);
  return [
    '# Decisions',
    '',
    '<!-- Written by `npm run docs`; do not edit. -->',
    '',
    'A record gives the reason for a choice that others may question. The code shows what svc does, and the other pages explain what',
    'users need. Each record stands alone. When a later record replaces it, the later one takes over what is still true, and the number',
    'of the former is not used again. When a later record changes a part of it, its status says which part, and names that record.',
    'Several records about one subject become one, under the lowest number of those that it replaces.',
    '',
    'A new record has the next free number, fewer than 40 lines, and the form below. `npm run docs` puts it into this index.',
    '`test/docs.test.ts` checks the form, and that each number that code or a page cites is recorded.',
    '',
    '    # 0123: The choice in one line',
    '',
    '    - Date: 2026-01-31',
    '    - Status: accepted',
    '    - Area: one of the headings below',
    '',
    '    ## Context',
    '    ## Choice',
    '    ## Consequences',
    ...AREAS.flatMap((area) => [
      '',
      `## ${area}`,
      '',
      ...records.filter((record) => record.area === area).map(({ line }) => line),
    ]),
    '',
  ].join('\n');
}

function recordIn(file: string): { area: string; line: string } {
  const text = readFileSync(new URL(file, DECISIONS), 'utf8');
  const [, number, title] = /^# (\d{4}): (.+)$/m.exec(text) ?? [];
  return { area: /^- Area: (.+)$/m.exec(text)?.[1] ?? '', line: `- [${number}](${file}): ${title}` };
}
