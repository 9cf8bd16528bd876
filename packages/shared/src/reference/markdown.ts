/** A table in Markdown. Its columns are padded, so that its source is readable too. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [first = '', ...others] = cells.map(line);
  return [first, line(widths.map((width) => '-'.repeat(width))), ...others];
}

/** Joins the lines of a page. */
export function lines(parts: readonly string[]): string {
  return `${parts.join('\n')}\n`;
}
