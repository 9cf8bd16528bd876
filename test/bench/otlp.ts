/**
 * Measures the CPU time per check of the export over OTLP. The same results are recorded with and without
 * the export, at the same time, so that other work of the machine affects both, at the given rate, each
 * on a real database file. 10 of the 50 endpoints, which run in another process, never answer.
 *
 *     node test/bench/otlp.ts [checks per second] [seconds] [pairs] [speed] [json]
 *
 * Each monitor is checked every 30 s in 3 regions and exported every 60 s, and its totals are stored
 * every 600 s. With a speed of 4 there are a quarter of the monitors, and all of this happens four
 * times as often. The measurement begins after three intervals of exports and 5 s. Requests are in
 * JSON, or in protobuf with OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf. The endpoints answer in the
 * encoding of the request; with `json` they always answer in JSON.
 */
import { COORDINATOR_ENVIRONMENT, COORDINATOR_FLAGS } from '../../deploy/local/node-flags.ts';
import { Children } from './children.ts';
import { machine } from './machine.ts';
import { median } from './process-usage.ts';

const [rate = 1_000, seconds = 120, pairs = 3, speed = 1] = process.argv.slice(2).map(Number);
const isJsonOnly = process.argv[6] === 'json';
const BUDGET_US = 30;

type Run = { readonly cpuUs: number };

async function runOnce(isExported: boolean): Promise<Run> {
  const children = new Children();
  try {
    const receivers = await children.node('test/bench/otlp-receivers.ts', isJsonOnly ? ['json'] : []);
    const run = await children.node(
      'test/bench/otlp-process.ts',
      [rate, seconds, speed].map(String).concat(receivers.line.split(' '), isExported ? [] : ['none']),
      { flags: COORDINATOR_FLAGS, environment: COORDINATOR_ENVIRONMENT },
    );
    return JSON.parse(run.line) as Run;
  } finally {
    await children.endAll();
  }
}

console.log(machine());
const differences: number[] = [];
for (let pair = 0; pair < pairs; pair += 1) {
  const [without, exported] = await Promise.all([runOnce(false), runOnce(true)]);
  differences.push(exported.cpuUs - without.cpuUs);
  console.log({ without, exported, exportUs: Number((exported.cpuUs - without.cpuUs).toFixed(2)) });
}
const cost = median(differences);
console.log(`export: ${cost.toFixed(1)} µs of CPU per check (budget ${BUDGET_US})`);
