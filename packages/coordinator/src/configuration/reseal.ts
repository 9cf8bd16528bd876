import { setImmediate } from 'node:timers/promises';
import type { Logger } from '@svc/shared/log.ts';
import { openSettings, sealSettings } from '../store/channels.ts';
import {
  alertsAfter,
  monitorsAfter,
  overwritingFreedPages,
  resealFacts,
  resealMonitors,
  resealPage,
  type SealedMonitor,
  sealedWith,
  writeAlerts,
  writeSealedWith,
} from '../store/sealed-rows.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import { resealedAlert } from '../store/stored-alerts.ts';
import { monitorAttributes, monitorColumns, monitorKindOf, SEAL } from './rows.ts';

/** Grows when the definitions make more of a resource secret than before. */
const LAYOUT = 3;

/**
 * Seals everything anew when needed: after a change of the key, or when an older version left a present
 * secret in clear. To be called at the start, before anything reads or writes rows. If the process is killed
 * in between, the next start repeats it: sealed values are then sealed once more.
 *
 * @throws StoreError `store-key` for a value that neither the key nor the previous key opens
 */
export async function resealWhereDue(store: Store, secrets: Secrets, log: Logger): Promise<void> {
  const due = `${LAYOUT} ${secrets.keyName}`;
  const present = await sealedWith(store);
  if (present === due) return;
  const startedAt = performance.now();
  let monitors = 0;
  await overwritingFreedPages(store, async () => {
    monitors = await resealAllMonitors(store, secrets);
    await resealTable(store, 'notifications', (sealed) =>
      sealSettings(secrets, openSettings(secrets, sealed).reveal()),
    );
    await resealTable(store, 'status_pages', (sealed) =>
      secrets.seal(SEAL.status_pages, secrets.open(SEAL.status_pages, sealed).reveal()),
    );
    await resealAlerts(store, secrets);
    await resealFacts(store, secrets);
  });
  await writeSealedWith(store, due);
  if (present === null && monitors === 0) return;
  const ms = Math.round(performance.now() - startedAt);
  log.info({ monitors, ms }, 'sealed all secrets anew; SVC_SECRET_KEY_PREVIOUS is no longer needed');
}

async function resealAllMonitors(store: Store, secrets: Secrets): Promise<number> {
  let count = 0;
  for (let rows = await monitorsAfter(store, 0); ; ) {
    const last = rows.at(-1);
    if (last === undefined) return count;
    await resealMonitors(
      store,
      rows.map((row) => resealed(secrets, row)),
    );
    count += rows.length;
    await setImmediate();
    rows = await monitorsAfter(store, last.id);
  }
}

function resealed(secrets: Secrets, row: SealedMonitor) {
  const attributes = monitorAttributes(secrets, row, 'open');
  const columns = monitorColumns(secrets, monitorKindOf(row), attributes);
  return { id: row.id, attributes: columns.attributes, secrets_sealed: columns.secrets_sealed };
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

async function resealTable(
  store: Store,
  table: 'notifications' | 'status_pages',
  reseal: (sealed: Uint8Array) => Uint8Array,
): Promise<void> {
  let afterId: number | null = 0;
  while (afterId !== null) {
    afterId = await resealPage(store, { table, afterId }, reseal);
    await setImmediate();
  }
}
