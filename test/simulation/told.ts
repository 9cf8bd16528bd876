import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { Alert, AlertStatus } from '@svc/shared/channels/alert.ts';
import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';

/** A maintenance window, epoch ms. `isDaily`: it repeats every 24 hours. */
export type Window = { readonly from: number; readonly until: number; readonly isDaily: boolean };

/** An input that the evaluation got and has committed. The oracle gets the same inputs in the same order. */
export type Told =
  | {
      readonly is: 'opened';
      readonly slot: number;
      readonly version: number;
      readonly regions: readonly Region[];
    }
  /** The region abstains from the slot, or is skipped. */
  | { readonly is: 'excused'; readonly slot: number; readonly version: number; readonly region: Region }
  /** The regions are given no job of the slot because of overload. */
  | {
      readonly is: 'left-out';
      readonly slot: number;
      readonly version: number;
      readonly regions: readonly Region[];
    }
  | {
      readonly is: 'reported';
      readonly region: Region;
      readonly result: CheckResult;
      /** Whether the job of this `not_run` is offered again. */
      isOfferedAgain: boolean;
    }
  /**
   * The reports from before a restart were read. Slots from before the restart wait for no region any more.
   */
  | { readonly is: 'all-resumed' }
  | { readonly is: 'declared'; readonly before: LiveMonitor | null; readonly after: LiveMonitor | null }
  | { readonly is: 'linked'; readonly channel: number; readonly kind: ChannelKind }
  | { readonly is: 'unlinked'; readonly channel: number }
  /** Null: the window is removed. */
  | { readonly is: 'window'; readonly number: number; readonly window: Window | null };

/** A change of status, as the history has it. */
export type Transition = {
  readonly from: MonitorStatus;
  readonly to: MonitorStatus;
  readonly reason: string;
  /** Epoch ms. */
  readonly at: number;
};

/** An alert to a channel. */
export type Announcement = {
  readonly channel: number;
  readonly status: AlertStatus;
  /** Whether the alert ends an incident without a recovery. */
  readonly isClosure: boolean;
  /** The content of the alert. */
  readonly alert?: Alert;
  /** Id by which receivers recognise the alert. */
  readonly id?: string;
};

/** An incident began. `at`: epoch ms. */
export type IncidentStart = { readonly key: string; readonly at: number };

/** An incident ended. `isRecovery`: it ended by a recovery, and not by a change of the declaration. */
export type IncidentEnd = IncidentStart & { readonly isRecovery: boolean };

/** The present time on three clocks, ms. */
export type Now = {
  readonly monotonic: number;
  /** The slots' clock, epoch ms. */
  readonly slot: number;
  /**
   * The clock by which votes age: it grows with the monotonic clock and with the jumps of the slots' clock.
   */
  readonly age: number;
};
