import type { LiveMonitor } from '../domain/monitor.ts';
import { freshForMs, isCounted, type Vote } from '../domain/status.ts';
import type { TransitionReason } from '../domain/transition.ts';
import type { Transaction } from '../store/store.ts';
import type { DeclarationEffects } from './evaluation.ts';
import type { Evaluation } from './evaluation-step.ts';
import type { Evaluator } from './evaluator.ts';
import type { MonitorState } from './states.ts';

const NONE: readonly never[] = [];

/** What a changed declaration does to statuses, votes, incidents and announcements. */
export function createDeclarationEffects(evaluator: Evaluator): DeclarationEffects {
  return {
    monitorChanged(tx, before, after) {
      const evaluation = evaluator.in(tx);
      if (after === null) {
        if (before !== null) deleted(evaluation, before);
        return;
      }
      const state = evaluation.state(after.id);
      evaluation.declare(after);
      if (before !== null) changed(evaluation, state, before, after);
      evaluation.rows.writeState(state);
      evaluation.finish();
    },

    linked(tx, monitorId, notificationId) {
      const evaluation = evaluator.in(tx);
      if (!evaluation.rows.insertLink(monitorId, notificationId)) return;
      const monitor = evaluation.monitor(monitorId);
      if (monitor === undefined) return;
      const state = evaluation.state(monitorId);
      evaluation.statusChanges.welcome(state, monitor, notificationId, counted(evaluation, state, monitor));
    },

    unlinked(tx, monitorId, notificationId) {
      const evaluation = evaluator.in(tx);
      const monitor = evaluation.monitor(monitorId);
      const link = evaluation.rows.links(monitorId).find((row) => row.notificationId === notificationId);
      if (monitor !== undefined && link !== undefined) {
        const votes = counted(evaluation, evaluation.state(monitorId), monitor);
        evaluation.statusChanges.close(link, monitor, votes, evaluation.slotNow, 'channel-unlinked');
      }
      evaluation.rows.deleteLink(monitorId, notificationId);
    },

    channelDeleted(tx: Transaction, notificationId: number) {
      evaluator.in(tx).rows.deleteChannel(notificationId);
    },
  };
}

function deleted(evaluation: Evaluation, monitor: LiveMonitor): void {
  const state = evaluation.state(monitor.id);
  const votes = counted(evaluation, state, monitor);
  evaluation.statusChanges.closeIncident(state, monitor, votes, evaluation.slotNow, 'monitor-deleted');
  evaluation.drafts.delete(monitor.id);
}

function changed(evaluation: Evaluation, state: MonitorState, before: LiveMonitor, after: LiveMonitor): void {
  evaluation.ageByJump(state, before);
  if (before.periodMs !== after.periodMs) evaluation.keepUndecidedFindable(state, after);
  if (!after.active) {
    if (!before.active) return;
    const votes = counted(evaluation, state, after);
    evaluation.statusChanges.closeIncident(state, after, votes, evaluation.slotNow, 'monitor-deactivated');
    endVotes(evaluation, state, after, 'deactivated');
  } else if (before.version !== after.version) {
    endVotes(evaluation, state, after, 'probe-changed');
  } else {
    shiftExpiries(state, before, after);
    evaluation.dropRegions(state, after);
  }
}

/** What is known is about something that is not checked any more; a result on its way will not vote either. */
function endVotes(
  evaluation: Evaluation,
  state: MonitorState,
  monitor: LiveMonitor,
  reason: TransitionReason,
): void {
  const electorate = evaluation.electorate(monitor);
  const { slotNow: at, now } = evaluation;
  // Before the votes go: the history shows what they were.
  evaluation.statusChanges.change(state, monitor, {
    status: 'unknown',
    reason,
    at,
    slot: null,
    electorate,
    now,
  });
  state.floorSlot = Math.max(state.decidedSlot, state.open.at(-1)?.slot ?? 0);
  state.decidedSlot = state.floorSlot;
  state.votes = NONE;
  state.stragglers = NONE;
  state.open = [];
}

/** Votes count for as long as the period that is declared now says. */
function shiftExpiries(state: MonitorState, before: LiveMonitor, after: LiveMonitor): void {
  const shift =
    freshForMs(after.periodMs, after.longestCheckMs) - freshForMs(before.periodMs, before.longestCheckMs);
  if (shift === 0) return;
  state.votes = state.votes.map((vote) => ({ ...vote, expiresAt: vote.expiresAt + shift }));
}

function counted(evaluation: Evaluation, state: MonitorState, monitor: LiveMonitor): Vote[] {
  const electorate = evaluation.electorate(monitor);
  return state.votes.filter((vote) => isCounted(vote, electorate, evaluation.now));
}
