/**
 * Yields pages of rows by ascending id. Each page is asked for while the caller works on the page before, so
 * that neither thread waits for the other.
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
    // A caller that stops early asks for no more pages; otherwise the next turn throws the error.
    next.catch(() => {});
    yield rows;
  }
}
