import { execFileSync } from 'node:child_process';

/**
 * Runs commands of a shell.
 *
 * @returns the CPU time of the programs that the commands started, ms, and their output
 */
export function childrenCpuMs(commands: string): { cpuMs: number; text: string } {
  const text = execFileSync('bash', ['-c', `${commands}; times`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // The last line of `times` is the time of ended children: user, system.
  const [, ...parts] = /(\d+)m([\d.]+)s (\d+)m([\d.]+)s\s*$/.exec(text) ?? [];
  const [userMin = 0, userS = 0, systemMin = 0, systemS = 0] = parts.map(Number);
  return { cpuMs: (userMin + systemMin) * 60_000 + (userS + systemS) * 1_000, text };
}
