import { sql } from 'kysely';
import type { Store } from '../store.ts';

/**
 * A text that differs whenever a status has changed or something was declared since. Each change has a row in
 * `transitions` or `audit`.
 */
export async function newestChange({ read }: Store): Promise<string> {
  const { rows } = await sql<{ transition: number | null; line: number | null }>`
    SELECT (SELECT max(id) FROM transitions) AS transition, (SELECT max(id) FROM audit) AS line`.execute(
    read,
  );
  const [found] = rows;
  return `${found?.transition ?? 0}-${found?.line ?? 0}`;
}
