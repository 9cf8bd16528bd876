import { Secret } from '@svc/shared/secret.ts';
import type { SealPurpose, Secrets } from './secrets.ts';
import type { Store } from './store.ts';

const SEAL: SealPurpose = 'notifications.settings';

/** A declared channel as it is stored: its settings are sealed. */
export type SealedChannel = {
  readonly workspaceId: number;
  readonly kind: string;
  readonly settingsSealed: Uint8Array;
  /** Whether alerts of many monitors that change together come as one message. */
  readonly groupsAlerts: boolean;
  /** Why the channel is stopped; null: it is not. */
  readonly stoppedFor: string | null;
  /** What its kind keeps of it; null: nothing. */
  readonly kept: string | null;
};

/** Null when there is none. */
export async function findChannel(store: Store, notificationId: number): Promise<SealedChannel | null> {
  const row = await store.work
    .selectFrom('notifications')
    .select([
      'workspace_id',
      'provider_type',
      'settings_sealed',
      'group_alerts',
      'stopped_at',
      'state_reason',
      'kept',
    ])
    .where('id', '=', notificationId)
    .executeTakeFirst();
  if (row === undefined) return null;
  const stoppedFor = row.stopped_at === null ? null : (row.state_reason ?? 'its address is dead');
  return {
    workspaceId: row.workspace_id,
    kind: row.provider_type,
    settingsSealed: row.settings_sealed,
    groupsAlerts: row.group_alerts === 1,
    stoppedFor,
    kept: row.kept,
  };
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
