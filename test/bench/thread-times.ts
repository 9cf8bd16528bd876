import { readdirSync, readFileSync } from 'node:fs';

/** CPU time of a thread since its start, and how often it has waited for something to do. */
export type ThreadTime = { readonly name: string; readonly ms: number; readonly waits: number };

/** The threads of a process by their ids. The main thread is called `main`, the helper of V8 `V8Worker`. */
export function threadTimes(pid: number | 'self'): ReadonlyMap<string, ThreadTime> {
  const tasks = `/proc/${pid}/task`;
  return new Map(readdirSync(tasks).flatMap((id) => timeOf(`${tasks}/${id}`, id)));
}

/** The times of the threads since `before`, by their names; threads of one name are added up. */
export function threadsSince(
  before: ReadonlyMap<string, ThreadTime>,
  after: ReadonlyMap<string, ThreadTime>,
): ReadonlyMap<string, ThreadTime> {
  const since = new Map<string, ThreadTime>();
  for (const [id, { name, ms, waits }] of after) {
    const began = before.get(id);
    const known = since.get(name);
    since.set(name, {
      name,
      ms: (known?.ms ?? 0) + ms - (began?.ms ?? 0),
      waits: (known?.waits ?? 0) + waits - (began?.waits ?? 0),
    });
  }
  return since;
}

function timeOf(task: string, id: string): [string, ThreadTime][] {
  try {
    const name = readFileSync(`${task}/comm`, 'utf8').trim();
    const [ns] = readFileSync(`${task}/schedstat`, 'utf8').split(' ');
    const [, waits] =
      /^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync(`${task}/status`, 'utf8')) ?? [];
    return [
      [id, { name: name === 'MainThread' ? 'main' : name, ms: Number(ns) / 1e6, waits: Number(waits) }],
    ];
  } catch {
    // The thread has ended.
    return [];
  }
}
