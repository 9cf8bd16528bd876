import type { Content } from './content.ts';

/** One line: what has happened to which monitor, and why. */
export function summaryOf({ title, facts }: Content): string {
  const [first] = facts;
  return first === undefined || first.isAddress ? title : `${title}: ${first.text}`;
}

/** The facts as members of an object. */
export function detailsOf({ facts }: Content): Record<string, string> {
  return Object.fromEntries(facts.map(({ label, text }) => [label, text]));
}
