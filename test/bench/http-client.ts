/**
 * Measures the CPU per HTTP request over a fresh connection: our client as the probe uses it, undici's
 * `Client`, and a bare socket as the floor, on the same target. Each runs in a process of its own. They take
 * turns, because the machine's speed drifts. The benchmark prints medians, and ratios within a turn.
 *
 *     node test/bench/http-client.ts [rounds] [seconds]
 */
import { Children } from './children.ts';
import type { Figures } from './http-client-process.ts';
import { median } from './process-usage.ts';
import { formatTable } from './table.ts';

const CONTENDERS = ['bare socket', 'own client', 'undici Client'] as const;
const MODES = ['paced', 'closed'] as const;
const [rounds = '5', seconds = '3'] = process.argv.slice(2);

async function measure(): Promise<void> {
  const children = new Children();
  const figures = new Map<string, Figures[]>();
  try {
    const { line: port } = await children.node('test/bench/target-process.ts');
    for (let round = 0; round < Number(rounds); round += 1) {
      for (const mode of MODES) {
        for (const contender of CONTENDERS) {
          const args = [contender, mode, port, seconds];
          const { line } = await children.node('test/bench/http-client-process.ts', args);
          const name = `${mode}: ${contender}`;
          figures.set(name, [...(figures.get(name) ?? []), JSON.parse(line)]);
        }
      }
    }
  } finally {
    await children.endAll();
  }
  report(figures);
}

function report(figures: ReadonlyMap<string, readonly Figures[]>): void {
  const rows = [...figures].map(([name, values]) => {
    const peers = figures.get(`${name.split(':')[0]}: undici Client`) ?? [];
    const ratios = values.map((value, index) => value.cpuMs / (peers[index]?.cpuMs ?? Number.NaN));
    return [
      name,
      median(values.map(({ cpuMs }) => cpuMs)).toFixed(3),
      median(values.map(({ userMs }) => userMs)).toFixed(3),
      median(ratios).toFixed(2),
      median(values.map(({ perSecond }) => perSecond)).toFixed(0),
      median(values.map(({ memoryMiB }) => memoryMiB)).toFixed(0),
    ];
  });
  const head = ['', 'CPU ms per request', 'of it user', '× undici Client', 'requests/s', 'RSS MiB'];
  console.log(formatTable(head, rows));
}

await measure();
