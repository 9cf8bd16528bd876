import { EVERY_MONITOR, type JournalEntry, type JournalledRow } from '../evaluation/journal-entry.ts';

/** What the evaluation was told at one moment. */
export type Step = { readonly row: JournalledRow } | { readonly entry: JournalEntry };

/** The order in which the evaluation was told the steps: what concerns all monitors comes first. */
export function inOrder(one: Step, other: Step): number {
  const [a, b] = [placeOf(one), placeOf(other)];
  return a.at - b.at || a.rank - b.rank || a.place - b.place;
}

export function instantOf(step: Step): number {
  return 'row' in step ? step.row.at : step.entry.at;
}

function placeOf(step: Step) {
  if ('row' in step) return { ...step.row, rank: 1 };
  return { ...step.entry, rank: step.entry.monitorId === EVERY_MONITOR ? 0 : 1 };
}
