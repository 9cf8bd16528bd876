import { type RawBuilder, sql } from 'kysely';

/*
 * The parts of queries that differ between databases, in the form of SQLite. The queries of all other files
 * use only what PostgreSQL has as well. Both databases get the aggregates `latency_histogram` and
 * `merged_histogram` (`sqlite/statements.ts`). `migrations/`, and the files that hold a connection of SQLite,
 * are SQLite's alone.
 */

/** Query: the names of all tables. */
export const TABLE_NAMES = sql<{ name: string }>`SELECT name FROM sqlite_master WHERE type = 'table'`;

/**
 * Statement: which freed content the connection overwrites. `pages`: whole freed pages too. `written`: only
 * content in pages that it writes anyway, which is the state after opening.
 */
export function overwriteFreed(what: 'pages' | 'written'): string {
  return `PRAGMA secure_delete = ${what === 'pages' ? 'ON' : 'FAST'}`;
}

/**
 * For FROM: numbers as a table with one column, `value`. All numbers are one parameter, so the statement does
 * not depend on their count.
 *
 * @param alias the table's name in the statement
 */
export function numbersAs(numbers: readonly number[], alias: string): RawBuilder<unknown> {
  return sql`json_each(${JSON.stringify(numbers)}) AS ${sql.ref(alias)}`;
}

/** For FROM: pairs of numbers as a table with the columns `first` and `second`. */
export function pairsAs(
  pairs: readonly (readonly [first: number, second: number])[],
  alias: string,
): RawBuilder<unknown> {
  return sql`(SELECT value ->> 0 AS first, value ->> 1 AS second FROM json_each(${JSON.stringify(pairs)}))
    AS ${sql.ref(alias)}`;
}

/** For FROM: as {@link pairsAs}, with a column `third`, and in the given order. */
export function triplesAs(
  triples: readonly (readonly [first: number, second: number, third: number])[],
  alias: string,
): RawBuilder<unknown> {
  return sql`(SELECT value ->> 0 AS first, value ->> 1 AS second, value ->> 2 AS third
    FROM json_each(${JSON.stringify(triples)}) ORDER BY key) AS ${sql.ref(alias)}`;
}

/**
 * Aggregate: the values of each row as an array, and all arrays as the text of one JSON array, in this order.
 */
export function jsonRows(values: readonly string[], orderedBy: readonly string[] = []): RawBuilder<string> {
  const columns = (names: readonly string[]) => sql.join(names.map((name) => sql.ref(name)));
  const order = orderedBy.length === 0 ? sql`` : sql` ORDER BY ${columns(orderedBy)}`;
  return sql<string>`json_group_array(json_array(${columns(values)})${order})`;
}

/** The greatest of the values in one row. */
export function greatest(...values: readonly RawBuilder<number>[]): RawBuilder<number> {
  return sql<number>`max(${sql.join(values)})`;
}

/** The least of the values in one row. */
export function least(...values: readonly RawBuilder<number>[]): RawBuilder<number> {
  return sql<number>`min(${sql.join(values)})`;
}

/** Whether `text` contains `part`; case does not matter for the letters of ASCII. */
export function containsText(text: RawBuilder<unknown>, part: string): RawBuilder<boolean> {
  return sql<boolean>`instr(lower(${text}), lower(${part})) > 0`;
}

/** A member of the JSON object in `column`, as text. @param member a plain name */
export function jsonMember(column: RawBuilder<unknown>, member: string): RawBuilder<string | null> {
  return sql<string | null>`json_extract(${column}, ${sql.lit(`$.${member}`)})`;
}

/** Whether a member of the JSON object in `column` is true: 1, else 0. @param member a plain name */
export function jsonFlag(column: RawBuilder<unknown>, member: string): RawBuilder<number> {
  return sql<number>`coalesce(json_extract(${column}, ${sql.lit(`$.${member}`)}), 0)`;
}

/** An item of an array in the JSON object in `column`. @param member a plain name */
export function jsonItem(
  column: RawBuilder<unknown>,
  member: string,
  index: number,
): RawBuilder<number | null> {
  return sql<number | null>`json_extract(${column}, ${sql.lit(`$.${member}[${index}]`)})`;
}
