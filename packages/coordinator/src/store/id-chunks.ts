/** Ids in one query; SQLite takes at most 32,766 parameters. */
const IDS_PER_QUERY = 500;

/** The ids in pieces that one query takes. */
export function* idChunks(ids: readonly number[]): Generator<readonly number[]> {
  for (let start = 0; start < ids.length; start += IDS_PER_QUERY) {
    yield ids.slice(start, start + IDS_PER_QUERY);
  }
}
