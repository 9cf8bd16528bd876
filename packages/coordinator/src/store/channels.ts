import { Secret } from '@svc/shared/secret.ts';
import type { SealPurpose, Secrets } from './secrets.ts';
import type { Store } from './store.ts';

const SEAL: SealPurpose = 'notifications.settings';

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

/**
 * Settings as a channel's row keeps them. They are sealed as a whole, because the addresses of most channels
 * are secrets themselves.
 */
export function sealSettings(secrets: Secrets, settings: object): Uint8Array {
  return secrets.seal(SEAL, JSON.stringify(settings));
}

/**
 * What a channel's settings are in clear, as {@link sealSettings} sealed them; to be parsed by whoever takes them.
 *
 * @throws StoreError `store-key`
 */
export function openSettings(secrets: Secrets, sealed: Uint8Array): Secret<unknown> {
  return new Secret(JSON.parse(secrets.open(SEAL, sealed).reveal()));
}
