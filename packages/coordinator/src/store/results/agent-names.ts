import { hash } from 'node:crypto';
import type { Kysely } from 'kysely';
import { dayOf } from '../../verdict/summary-range.ts';
import type { Database } from '../schema.ts';
import type { SqlStep } from '../store.ts';

/**
 * The number by which reports name an agent: 40 bits of a hash of its name. Numbers are
 * derived and not assigned, so several coordinators need not agree about them. With 10,000
 * names, the probability that two names have the same number is about 1 in 20,000. If two
 * agents had the same number, the history would show one name for both.
 */
export function numberOfAgent(name: string): number {
  return Number.parseInt(hash('sha256', name).slice(0, 10), 16);
}

/**
 * Stores the names of the agents of a batch. A name is written only
 * with the first batch of a day that contains it.
 *
 * @param recordedAt epoch ms
 */
export function noteAgents(names: ReadonlyMap<string, number>, recordedAt: number): SqlStep {
  return {
    sql: `INSERT INTO agent_names (number, name, noted_on) VALUES (?, ?, ?)
      ON CONFLICT (number) DO UPDATE SET noted_on = excluded.noted_on
      WHERE agent_names.noted_on < excluded.noted_on`,
    rows: Array.from(names, ([name, number]) => [number, name, dayOf(recordedAt)]),
  };
}

/** The names of agents, by their numbers. */
export async function namesOfAgents(
  db: Kysely<Database>,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const distinct = [...new Set(numbers)];
  if (distinct.length === 0) return new Map();
  const rows = await db
    .selectFrom('agent_names')
    .select(['number', 'name'])
    .where('number', 'in', distinct)
    .execute();
  return new Map(rows.map(({ number, name }) => [number, name]));
}
