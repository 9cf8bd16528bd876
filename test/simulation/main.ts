import { parseArgs } from 'node:util';
import { describeAlarms } from './false-alarms.ts';
import { runInProcesses, storyOf } from './run-worlds.ts';
import { describeStatistics, failingSeeds } from './statistics.ts';

/** Failing worlds whose stories are printed. */
const MOST_STORIES = 5;

const { values } = parseArgs({
  options: {
    /** The seed of the first world. */
    seed: { type: 'string', default: '1' },
    worlds: { type: 'string', default: '1000' },
    /** Number of further steps of the system's clock, and of further restarts, in each world. */
    'clock-steps': { type: 'string', default: '0' },
    restarts: { type: 'string', default: '0' },
    /**
     * Number of further long downtimes of the coordinator, of times at which
     * regions are cut off, and of changes of time-out and retries, in each world.
     */
    downtimes: { type: 'string', default: '0' },
    'cut-offs': { type: 'string', default: '0' },
    efforts: { type: 'string', default: '0' },
    /** Percentage of the commits that fail. */
    failures: { type: 'string', default: '0' },
    /**
     * Number of slots. If it is set, no worlds run: the program counts the false
     * alarms of one monitor in these slots, with and without the rule about moments.
     */
    'alarm-slots': { type: 'string' },
  },
});

const { 'alarm-slots': alarmSlots } = values;
if (alarmSlots !== undefined) {
  console.log(describeAlarms({ seed: Number(values.seed), slots: Number(alarmSlots) }));
  process.exit();
}

const started = performance.now();
const storm = {
  clockSteps: Number(values['clock-steps']),
  restarts: Number(values.restarts),
  downtimes: Number(values.downtimes),
  cutOffs: Number(values['cut-offs']),
  efforts: Number(values.efforts),
  failures: Number(values.failures),
};
const sum = await runInProcesses({ seed: Number(values.seed), worlds: Number(values.worlds), storm });
console.log(describeStatistics(sum, performance.now() - started));
for (const seed of failingSeeds(sum).slice(0, MOST_STORIES)) {
  console.log(`\n${(await storyOf(seed, storm)) ?? `World ${seed} fails in the database only.`}`);
}
if (failingSeeds(sum).length > 0) process.exitCode = 1;
