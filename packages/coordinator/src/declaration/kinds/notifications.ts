import { REMIND_EVERY, type RemindEvery } from '@svc/shared/resources/notification.ts';
import type { Notification } from '@svc/shared/resources/registry.ts';
import { masked } from '@svc/shared/resources/secrets.ts';
import { openSettings, sealSettings } from '../../store/declaration/channels.ts';
import {
  insertLinks,
  linkedMonitors,
  linksOfChannel,
  removeLinks,
  resetLinks,
} from '../../store/declaration/links.ts';
import type { ChangeScope } from '../scope.ts';
import { formed, metadataOf } from '../stored.ts';
import type { Kind } from './kind.ts';
import { sameAttributes } from './kind-tables.ts';

const KIND = 'svc_notification';

/**
 * The rules for channels. All settings of a channel are encrypted, because most kinds have a secret address.
 */
export const notifications: Kind<'notifications'> = {
  kindOf: () => KIND,
  columnsOf(secrets, { name, provider_type, group_alerts, notify_unknown, remind_every, settings }) {
    return {
      name,
      provider_type,
      group_alerts: group_alerts ? 1 : 0,
      notify_unknown: notify_unknown ? 1 : 0,
      remind_every_ms: remind_every === null ? null : REMIND_EVERY[remind_every],
      settings_sealed: sealSettings(secrets, settings),
    };
  },
  sealedColumns: ['settings_sealed'],
  linkedIds: linkedMonitors,
  resourceOf(secrets, row, shown, linked) {
    const { name, provider_type: type, state, state_reason: stateReason, stopped_at: stoppedAt } = row;
    const block = { [type]: openSettings(secrets, row.settings_sealed).reveal() };
    const { [type]: settings } = shown === 'open' ? block : masked(KIND, block);
    const columns = {
      name,
      provider_type: type,
      monitor_ids: linked.map(String),
      group_alerts: row.group_alerts === 1,
      notify_unknown: row.notify_unknown === 1,
      remind_every: remindEveryOf(row.remind_every_ms),
    };
    const attributes = formed(KIND, row.id, { settings }, columns);
    return { kind: KIND, ...metadataOf(row), attributes, state, stateReason, stoppedAt };
  },
  // The change may have removed the cause of failed deliveries. If the cause
  // remains, the next failed delivery marks the channel as failing again.
  revisedColumns: (_scope, _row, before, after) =>
    isSentOtherwise(before, after) ? { state: 'ok', state_reason: null, stopped_at: null } : {},
  async afterWrite(scope, id, before, after) {
    const { monitor_ids, provider_type } = after;
    const isLinked = new Set(monitor_ids);
    const wasLinked = new Set(before?.attributes.monitor_ids ?? []);
    const made = { notificationId: id, version: before === null ? 1 : before.row.row_version + 1 };
    // A channel of another kind has another receiver, and that receiver has got no earlier alert.
    const isOtherKind = before !== null && before.row.provider_type !== provider_type;
    if (isOtherKind) await resetLinks(scope.tx, made);
    if (before !== null) await unlink(scope, { id, providerType: before.row.provider_type }, isLinked);
    if (before !== null && isFoundOtherwise(before.attributes, after)) {
      scope.logChange({ kind: 'channel', notificationId: id, version: isOtherKind ? made.version : null });
    }
    await link(scope, made, monitor_ids.filter((monitorId) => !wasLinked.has(monitorId)).map(Number));
  },
  // The database removes the links of a channel together with the channel's row.
  // The deliveries are not sent any more, and the retention removes them later.
  beforeRemoval(scope, rows) {
    for (const { id } of rows) scope.logChange({ kind: 'channel-removed', notificationId: id });
  },
};

function remindEveryOf(ms: number | null): RemindEvery | null {
  const every = Object.keys(REMIND_EVERY) as RemindEvery[];
  return every.find((each) => REMIND_EVERY[each] === ms) ?? null;
}

/** Whether the change affects how alerts are sent, because the kind or the settings differ. */
function isSentOtherwise(before: Notification, after: Notification): boolean {
  return before.provider_type !== after.provider_type || !sameAttributes(before.settings, after.settings);
}

/** Whether the leader must read the channel again before it sends alerts. */
function isFoundOtherwise(before: Notification, after: Notification): boolean {
  return isSentOtherwise(before, after) || before.group_alerts !== after.group_alerts;
}

async function link(
  scope: ChangeScope,
  made: { readonly notificationId: number; readonly version: number },
  monitorIds: readonly number[],
) {
  if (monitorIds.length === 0) return;
  await insertLinks(scope.tx, made, monitorIds);
  for (const monitorId of monitorIds) scope.logChange({ kind: 'linked', monitorId, ...made });
}

/** Ends the links of a channel to all monitors except the kept ones. */
async function unlink(
  scope: ChangeScope,
  { id, providerType }: { id: number; providerType: string },
  kept: ReadonlySet<string>,
): Promise<void> {
  for await (const links of linksOfChannel(scope.tx, id)) {
    const ended = links.filter(({ monitorId }) => !kept.has(String(monitorId)));
    if (ended.length === 0) continue;
    for (const { monitorId, ...link } of ended) {
      const told = { providerType, ...link };
      scope.logChange({ kind: 'unlinked', monitorId, notificationId: id, link: told });
    }
    const ids = ended.map(({ monitorId }) => monitorId);
    await removeLinks(scope.tx, id, ids);
  }
}
