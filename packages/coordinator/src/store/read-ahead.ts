/**
 * Pages of rows by ascending id, each asked for while the one before is worked on: the reading thread need not wait
 * for this one, nor this one for it.
 *
 * @param pageAfter the next rows after this id; none: the end
 */
export async function* readAhead<Row>(
  pageAfter: (id: number) => Promise<readonly Row[]>,
  idOf: (row: Row) => number,
): AsyncGenerator<readonly Row[]> {
  for (let next = pageAfter(0); ; ) {
    const rows = await next;
    const last = rows.at(-1);
    if (last === undefined) return;
    next = pageAfter(idOf(last));
    // Whoever stops early asks no more; else it is thrown by the next turn.
    next.catch(() => {});
    yield rows;
  }
}
