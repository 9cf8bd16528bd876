import type { Region } from '@svc/shared/regions.ts';
import type { SlotEvents } from '../domain/slots.ts';
import type { DispatchCounters } from './counters.ts';

/** Takes the answers to offers, which show how busy a region is. */
export interface OfferSigns {
  offered(region: Region): void;
  unanswered(region: Region): void;
  refused(region: Region): void;
}

export type InFlightParts = {
  events: SlotEvents;
  counters: DispatchCounters;
  /** Gets the answers to offers. */
  overload: OfferSigns;
  /**
   * Whether all results that the region's stream held a moment ago are recorded and their outcomes reported.
   * It may answer no at first and find out in the meantime.
   */
  readerCaughtUp: (region: Region) => boolean;
};
