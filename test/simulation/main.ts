import { parseArgs } from 'node:util';
import { generateWorld } from './generate.ts';
import { simulate } from './simulation.ts';
import { MemoryStore } from './memory-store.ts';

const { values } = parseArgs({ options: { seed: { type: 'string', default: '1' }, worlds: { type: 'string', default: '1000' }, story: { type: 'boolean', default: false } } });
const seed = Number(values.seed);
const sums: Record<string, number> = {};
const first: Record<string, string> = {};
const started = performance.now();
{
  for (let n = seed; n < seed + Number(values.worlds); n += 1) {
    const o = await simulate(generateWorld(n), new MemoryStore(), values.story);
    const add = (k: string, v: number) => { sums[k] = (sums[k] ?? 0) + v; };
    add('events', o.events); add('confirmed', o.confirmed); add('unannounced', o.unannounced); add('announcements', o.announcements);
    for (const [k, v] of Object.entries(o.outages)) add(k, v);
    if (o.violations.length > 0) add('failing worlds', 1);
    const kinds = new Set(o.violations.map((v) => v.kind));
    for (const k of kinds) { add(`worlds ${k}`, 1); first[k] ??= `${n}: ${JSON.stringify(o.violations.find((v) => v.kind === k))}`; }
    if (values.story) { for (const l of o.story) console.log((l.at/1000).toFixed(3), l.text); console.log(o.violations); }
  }
}
console.log(sums, first, ((performance.now() - started) * 1000) / (sums.events ?? 1), 'us/event');
