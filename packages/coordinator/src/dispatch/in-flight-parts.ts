import type { Region } from '@svc/shared/regions.ts';
import type { SlotEvents } from '../domain/slots.ts';
import type { DispatchCounters } from './counters.ts';

export type InFlightParts = {
  events: SlotEvents;
  counters: DispatchCounters;
  /**
   * Whether all results that the region's stream held a moment ago are recorded and their outcomes reported.
   * It may answer no at first and find out in the meantime.
   */
  readerCaughtUp: (region: Region) => boolean;
};
