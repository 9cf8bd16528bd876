import {
  channelChanged,
  channelLinked,
  channelRemoved,
  channelUnlinked,
  monitorDeclared,
  monitorRemoved,
  type RemovedMonitor,
} from './declared-effects.ts';
import type { Evaluation } from './evaluation.ts';
import type { LiveMonitor } from './monitor.ts';
import type { Link } from './state.ts';
import type { LiveWindow } from './windows.ts';

/** One change of the declaration, in the form in which its effects are applied. */
export type DeclaredChange =
  /** `monitor` is the present declaration. Null: the monitor is gone, and `removed` holds its remains. */
  | {
      readonly kind: 'monitor';
      readonly monitorId: number;
      readonly monitor: LiveMonitor | null;
      readonly removed: RemovedMonitor | null;
    }
  | {
      readonly kind: 'linked';
      readonly monitorId: number;
      readonly notificationId: number;
      readonly providerType: string;
    }
  /** `link` is the stored link. */
  | {
      readonly kind: 'unlinked';
      readonly monitorId: number;
      readonly notificationId: number;
      readonly link: Link | null;
    }
  | { readonly kind: 'channel'; readonly notificationId: number; readonly providerType: string }
  | { readonly kind: 'channel-removed'; readonly notificationId: number }
  /** `window` is the present one. Null: it is removed, or over. */
  | { readonly kind: 'maintenance'; readonly windowId: number; readonly window: LiveWindow | null };

export function applyChange(evaluation: Evaluation, change: DeclaredChange): void {
  switch (change.kind) {
    case 'monitor':
      if (change.monitor === null) monitorRemoved(evaluation, change.monitorId, change.removed);
      else monitorDeclared(evaluation, change.monitor);
      return;
    case 'linked':
      channelLinked(evaluation, change.monitorId, change);
      return;
    case 'unlinked':
      channelUnlinked(evaluation, change.monitorId, change.notificationId, change.link);
      return;
    case 'channel':
      channelChanged(evaluation, change);
      return;
    case 'channel-removed':
      channelRemoved(evaluation, change.notificationId);
      return;
    case 'maintenance':
      evaluation.windowChanged(change.windowId, change.window);
      return;
    default:
      change satisfies never;
  }
}
