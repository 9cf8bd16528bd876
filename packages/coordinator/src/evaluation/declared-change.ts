import type { LiveMonitor } from '../domain/monitor.ts';
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
import { journalledLinks, journalledMonitor, mentioned, note } from './journal.ts';
import type { JournalledChange } from './journal-entry.ts';
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
  const concerned = concernedBy(evaluation, change);
  if (change.kind === 'monitor' && change.monitor !== null) noteOpenSlots(evaluation, change.monitorId);
  apply(evaluation, change);
  const journalledChange = journalled(change);
  if (journalledChange === null) return;
  for (const { monitorId, ...before } of concerned) {
    note(evaluation.frame, evaluation.state(monitorId), {
      is: 'declared',
      change: journalledChange,
      ...before,
    });
  }
}

/** A change may end open slots that nobody has answered yet: the journal must know them. */
function noteOpenSlots({ frame, drafts }: Evaluation, monitorId: number): void {
  const state = drafts.find(monitorId);
  for (const { slot } of state?.open ?? []) {
    const given = state === null ? null : mentioned(state, slot);
    if (state !== null && given !== null) note(frame, state, { is: 'opened', slot, given });
  }
}

/** The monitors that the change concerns, as they are declared before it. */
function concernedBy(evaluation: Evaluation, change: DeclaredChange) {
  const declared = (monitorId: number) => {
    const monitor = evaluation.monitor(monitorId);
    const links = evaluation.drafts.find(monitorId)?.links ?? [];
    const before = monitor === undefined ? null : journalledMonitor(monitor);
    return { monitorId, before, linksBefore: journalledLinks(links) };
  };
  if ('monitorId' in change) {
    const isKnown = change.kind === 'monitor' || evaluation.monitor(change.monitorId) !== undefined;
    return isKnown ? [declared(change.monitorId)] : [];
  }
  // The evaluation writes what windows are changed to.
  if (change.kind === 'maintenance') return [];
  return evaluation.linkedTo(change.notificationId).map(({ id }) => declared(id));
}

function apply(evaluation: Evaluation, change: DeclaredChange): void {
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

/** The change as it concerns one monitor; null: it is gone, and nobody will ask. */
function journalled(change: DeclaredChange): JournalledChange | null {
  switch (change.kind) {
    case 'monitor':
      return change.monitor === null ? null : { kind: 'monitor', monitor: journalledMonitor(change.monitor) };
    case 'linked':
    case 'channel':
      return { kind: change.kind, notificationId: change.notificationId, providerType: change.providerType };
    case 'unlinked':
    case 'channel-removed':
      return { kind: change.kind, notificationId: change.notificationId };
    case 'maintenance':
      return null;
    default:
      return change satisfies never;
  }
}
