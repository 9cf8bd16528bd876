import { noticeAlert } from '@svc/coordinator/alerts/monitor-notices.ts';
import { newState } from '@svc/coordinator/verdict/state.ts';
import type { Vote } from '@svc/coordinator/verdict/status.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Region } from '@svc/shared/regions.ts';
import { FULL_ALERT } from '../../support/channel-sending.ts';
import { liveMonitor } from '../../support/coordinator/recording.ts';

const { at, monitor: shown } = FULL_ALERT;
const monitor = liveMonitor(shown.id, { name: shown.name, target: shown.url });
const since = at - 45 * 60_000;

function vote(region: Region, outcome: Vote['outcome']): Vote {
  return {
    region,
    outcome,
    slot: at,
    at,
    endedAt: at,
    failedSince: outcome === 'failed' ? since : null,
    upSlot: 0,
    expiresAt: at,
    latency: 12.5,
    statusCode: null,
    errorMessage: outcome === 'failed' ? 'connection refused' : null,
  };
}

const others = [vote('hostb-par', 'passed'), vote('hostc-us-east4', 'passed')];
const failing = [vote('hosta-fra', 'failed'), ...others];
const working = [vote('hosta-fra', 'passed'), ...others];
const ofRegion = { monitorId: shown.id, region: 'hosta-fra' as const, since, key: '0b3c:12:region' };
const ofData = { ...ofRegion, region: null, key: '0b3c:12:data' };
const active = { ...newState(shown.id, 0), status: 'active' as const };
const failed = { ...active, status: 'error' as const };
const unknown = newState(shown.id, since);

const id = (region: Region) => region;
const ownName = (region: Region) => `Berlin office (${region})`;

/** The notices about a monitor, as svc makes them, with the title that people read. */
export const NOTICES: readonly (readonly [title: string, alert: Alert])[] = [
  [
    `Region hosta-fra fails: ${shown.name}`,
    noticeAlert(ofRegion, { is: 'begun', monitor, state: active, votes: failing, at }, id),
  ],
  [
    `Region hosta-fra works again: ${shown.name}`,
    noticeAlert(ofRegion, { is: 'over', monitor, state: active, votes: working, at }, id),
  ],
  [
    `Region Berlin office (hosta-fra) fails: ${shown.name}`,
    noticeAlert(ofRegion, { is: 'begun', monitor, state: active, votes: failing, at }, ownName),
  ],
  [
    `No data: ${shown.name}`,
    noticeAlert(ofData, { is: 'begun', monitor, state: unknown, votes: [], at }, id),
  ],
  [
    `Data is back: ${shown.name}`,
    noticeAlert(ofData, { is: 'over', monitor, state: active, votes: working, at }, id),
  ],
  [
    `Data is back, status error: ${shown.name}`,
    noticeAlert(ofData, { is: 'over', monitor, state: failed, votes: failing, at }, id),
  ],
];
