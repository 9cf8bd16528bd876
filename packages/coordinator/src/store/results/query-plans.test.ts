import { expect, onTestFinished, test } from 'vitest';
import { configuredStore } from '../../../../../test/support/configured-store.ts';
import { NotedStatements } from '../../../../../test/support/noted-statements.ts';
import { addResults } from '../../../../../test/support/recorded-results.ts';
import { resultsAsRecorded } from '../history/replayed-history.ts';
import { deleteAgentNames, deleteResults } from '../history/retention.ts';
import { oldestRecorded } from '../history/rollup-progress.ts';
import { newestResults } from './newest-results.ts';
import { newestRecordedSlot, recordedAt } from './recorded-slots.ts';
import { createRecordingStore } from './recording-store.ts';
import { firstSlotFrom, phasesOfSlots, seriesOfMonitor, seriesOfPhases } from './result-series.ts';

test('no statement about results reads all of them', async () => {
  const statements = new NotedStatements();
  const parts = await configuredStore(statements.workers);
  onTestFinished(() => parts.dispose());
  const { store, secrets } = parts;
  statements.clear();

  const result = { monitor_id: 1, region: 'hosta-fra', outcome: 'passed', agent: 'a' } as const;
  await addResults(store, ...[0, 1, 2].map((minute) => ({ ...result, slot: minute * 60_000 })));
  const everything = {
    monitorId: 1,
    since: 0,
    before: null,
    region: null,
    outcome: null,
    after: null,
    limit: 9,
  };
  await newestResults(store, everything);
  const narrow = { region: 'hosta-fra', outcome: 'passed', after: { slot: 9, region: 'hostb-par' } } as const;
  await newestResults(store, { ...everything, ...narrow });
  const recording = createRecordingStore(store, secrets);
  await recording.recordedOutcomes([{ monitorId: 1, slot: 0, region: 'hosta-fra' }]);
  await newestRecordedSlot(store);
  await oldestRecorded(store);
  for await (const _ of recordedAt(store, [0])) break;
  const span = { from: 0, until: 3_600_000 };
  for await (const _ of resultsAsRecorded(store, 1, span)) break;
  await seriesOfPhases(store, 0, { from: 0, until: 4 });
  await seriesOfMonitor(store, 1, span);
  await firstSlotFrom(store, 0);
  const phases = { monitorId: 1, region: null, buckets: { from: 0, bucketMs: 60_000 } };
  await phasesOfSlots(store, [0], phases);
  await deleteResults(store, 3_600_000);
  await deleteAgentNames(store);

  const plans = statements.plans(parts.database.file);
  const reading = [...plans].filter(([text]) => text.includes('slot_results'));
  expect(reading.length).toBeGreaterThan(11);
  // Queries for the least or the greatest slot are left out: their plan is a scan that ends at the first entry.
  const scans = reading.filter(
    ([text, steps]) =>
      !/(min|max)\("?slot"?\)/.test(text) && steps.some((step) => step.startsWith('SCAN slot_results')),
  );
  expect(scans).toEqual([]);
});
