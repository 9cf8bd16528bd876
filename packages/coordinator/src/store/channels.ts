import type { Store } from './store.ts';

/** A declared channel as it is stored: its settings are sealed. */
export type SealedChannel = { readonly kind: string; readonly settingsSealed: Uint8Array };

/** Null when there is none. */
export async function findChannel(store: Store, notificationId: number): Promise<SealedChannel | null> {
  const row = await store.read
    .selectFrom('notifications')
    .select(['provider_type', 'settings_sealed'])
    .where('id', '=', notificationId)
    .executeTakeFirst();
  return row === undefined ? null : { kind: row.provider_type, settingsSealed: row.settings_sealed };
}
