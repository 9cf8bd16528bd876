import { forTerminal } from '@svc/shared/text/terminal.ts';

/** Writes rows as aligned columns. Texts may come from outside, so they are made safe for a terminal. */
export function table(rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) => row.map((text) => forTerminal(text).replaceAll(/[\t\n]/g, ' ')));
  const widths = (shown[0] ?? []).map((_, column) =>
    Math.max(...shown.map((row) => (row[column] ?? '').length)),
  );
  return shown
    .map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}
