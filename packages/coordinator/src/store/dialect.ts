import { type RawBuilder, sql } from 'kysely';

/** What SQLite says in another way than PostgreSQL does. Everything else in this folder is common to both. */

/** Whether `text` contains `part`; case does not matter for the letters of ASCII. */
export function containsText(text: RawBuilder<unknown>, part: string): RawBuilder<boolean> {
  return sql<boolean>`instr(lower(${text}), lower(${part})) > 0`;
}

/** A member of the JSON object in `column`, as text. @param member a plain name */
export function jsonMember(column: RawBuilder<unknown>, member: string): RawBuilder<string | null> {
  return sql<string | null>`json_extract(${column}, ${sql.lit(`$.${member}`)})`;
}
