import type { Migration } from 'kysely/migration';
import * as initial from './0001-initial.ts';
import * as rollups from './0002-rollups.ts';
import * as monitorNames from './0003-monitor-names.ts';
import * as changes from './0004-changes.ts';
import * as evaluation from './0005-evaluation.ts';
import * as retention from './0006-retention.ts';
import * as coarseGrid from './0007-coarse-grid.ts';
import * as exactRestart from './0008-exact-restart.ts';
import * as tokens from './0009-tokens.ts';
import * as audit from './0010-audit.ts';
import * as streamPositions from './0011-stream-positions.ts';
import * as monitorTypes from './0012-monitor-types.ts';
import * as exportTotals from './0013-export-totals.ts';
import * as deliveryLedger from './0014-delivery-ledger.ts';
import * as groupAlerts from './0015-group-alerts.ts';
import * as keptForDeliveries from './0016-kept-for-deliveries.ts';
import * as sessions from './0017-sessions.ts';
import * as deliveriesOfAMonitor from './0018-deliveries-of-a-monitor.ts';
import * as visitors from './0021-visitors.ts';
import * as notes from './0022-notes.ts';
import * as evaluationJournal from './0023-evaluation-journal.ts';
import * as clockSetBacks from './0024-clock-set-backs.ts';
import * as pageLatency from './0025-page-latency.ts';

/**
 * All migrations by name, in the order of their names. They are a list and not a folder, so that bundling
 * keeps them.
 */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-initial': initial,
  '0002-rollups': rollups,
  '0003-monitor-names': monitorNames,
  '0004-changes': changes,
  '0005-evaluation': evaluation,
  '0006-retention': retention,
  '0007-coarse-grid': coarseGrid,
  '0008-exact-restart': exactRestart,
  '0009-tokens': tokens,
  '0010-audit': audit,
  '0011-stream-positions': streamPositions,
  '0012-monitor-types': monitorTypes,
  '0013-export-totals': exportTotals,
  '0014-delivery-ledger': deliveryLedger,
  '0015-group-alerts': groupAlerts,
  '0016-kept-for-deliveries': keptForDeliveries,
  '0017-sessions': sessions,
  '0018-deliveries-of-a-monitor': deliveriesOfAMonitor,
  '0021-visitors': visitors,
  '0022-notes': notes,
  '0023-evaluation-journal': evaluationJournal,
  '0024-clock-set-backs': clockSetBacks,
  '0025-page-latency': pageLatency,
};
