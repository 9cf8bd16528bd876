import { readFileSync } from 'node:fs';

/**
 * Length of the ticks in which Linux reports CPU time, ms. `getconf CLK_TCK` is 100 on every platform of
 * Node.
 */
const TICK_MS = 10;
const PAGE_KIB = 4;

/** CPU time that a process has used so far, user and system time of all its threads, ms. */
export function cpuMs(pid: number): number {
  const fields = statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** CPU time of a process and its children so far, with that of the children that have ended, ms. */
export function familyCpuMs(pid: number): number {
  const fields = statOf(pid);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  const living = children.reduce((sum, child) => sum + cpuMs(Number(child)), 0);
  return cpuMs(pid) + (Number(fields[13]) + Number(fields[14])) * TICK_MS + living;
}

/** Resident memory of a process, MiB. */
export function residentMiB(pid: number): number {
  return (Number(statOf(pid)[21]) * PAGE_KIB) / 1024;
}

/** Peak of the resident memory of a process, MiB. */
export function peakMiB(pid: number): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

/** Fields of /proc/<pid>/stat from the third on. The second field, the name, may contain spaces. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/** The value below which `share` (0 to 1) of the values lie. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
