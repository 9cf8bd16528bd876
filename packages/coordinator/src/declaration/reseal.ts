import { setImmediate } from 'node:timers/promises';
import type { Logger } from '@svc/shared/log.ts';
import { resealedAlert } from '../store/alerts/stored-alerts.ts';
import { RESOURCE_TABLES, type ResourceTable, type Row } from '../store/declaration/resources.ts';
import {
  alertsAfter,
  overwritingFreedPages,
  replaceColumns,
  resealFacts,
  rowsAfter,
  sealedWith,
  writeAlerts,
  writeSealedWith,
} from '../store/declaration/sealed-rows.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { SqlValue, Store } from '../store/store.ts';
import type { AttributesIn } from './kinds/kind-tables.ts';
import { KINDS } from './kinds/registry.ts';
import { storedIn } from './reading.ts';

/**
 * Encrypts all stored secrets with the present key, unless they are encrypted with it
 * already. Call it at the start, before any other code reads or writes rows. If the process
 * is killed halfway, the next start begins again, and encrypts all secrets once more.
 *
 * @throws StoreError `store-key` for a secret that neither the present key nor the previous key decrypts,
 *   `store-unreadable` for a resource that this version cannot read
 */
export async function resealWhereDue(store: Store, secrets: Secrets, log: Logger): Promise<void> {
  const due = secrets.keyName;
  const present = await sealedWith(store);
  if (present === due) return;
  const startedAt = performance.now();
  let monitors = 0;
  await overwritingFreedPages(store, async () => {
    for (const table of RESOURCE_TABLES) {
      const count = await resealTable(store, secrets, table);
      if (table === 'monitors') monitors = count;
    }
    await resealAlerts(store, secrets);
    await resealFacts(store, secrets);
  });
  await writeSealedWith(store, due);
  if (present === null && monitors === 0) return;
  const ms = Math.round(performance.now() - startedAt);
  log.info({ monitors, ms }, 'sealed all secrets anew; SVC_SECRET_KEY_PREVIOUS is no longer needed');
}

/** Encrypts the secrets of one table with the present key. Returns the number of rows. */
async function resealTable(store: Store, secrets: Secrets, table: ResourceTable): Promise<number> {
  const { sealedColumns } = KINDS[table];
  if (sealedColumns.length === 0) return 0;
  let [count, place] = [0, 0];
  for (let rows = await rowsAfter(store, table, 0); ; ) {
    const last = rows.at(-1);
    if (last === undefined) return count;
    const made = await resealed(store, secrets, table, rows);
    const replaced = await replaceColumns(store, table, sealedColumns, made);
    await setImmediate();
    if (replaced === rows.length) {
      count += replaced;
      place = last.id;
    }
    // Otherwise another coordinator has changed a row meanwhile, and the page is read again.
    rows = await rowsAfter(store, table, place);
  }
}

/** Makes the new values of the encrypted columns. */
async function resealed<T extends ResourceTable>(
  store: Store,
  secrets: Secrets,
  table: T,
  rows: readonly Row<T>[],
): Promise<{ id: number; rowVersion: number; values: SqlValue[] }[]> {
  const { sealedColumns, columnsOf } = KINDS[table];
  const found = await storedIn({ source: store, secrets, shown: 'open' }, table, rows);
  return found.map(({ id, rowVersion, attributes }) => {
    const made: { readonly [column: string]: SqlValue | undefined } = columnsOf(
      secrets,
      attributes as AttributesIn<T>,
    );
    return { id, rowVersion, values: sealedColumns.map((column) => made[String(column)] ?? null) };
  });
}

async function resealAlerts(store: Store, secrets: Secrets): Promise<void> {
  for (let rows = await alertsAfter(store, 0); ; ) {
    const last = rows.at(-1);
    if (last === undefined) return;
    const sealed = rows.flatMap(({ id, alert: text }) => {
      const alert = resealedAlert(secrets, text);
      return alert === null ? [] : [{ id, alert }];
    });
    if (sealed.length > 0) await writeAlerts(store, sealed);
    await setImmediate();
    rows = await alertsAfter(store, last.id);
  }
}
