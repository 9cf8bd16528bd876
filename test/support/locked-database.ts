import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { guardProcess } from '../../deploy/local/guard.ts';
import { findProgram } from './real-dns-server.ts';

/** Path of Perl, which can set locks of POSIX, unlike Node. Debian always has it. */
const PERL = findProgram('perl');

/** For `skipIf`: this machine has no Perl. In CI such a test fails instead of being skipped. */
export const skipsLocks = PERL === null && process.env.CI !== 'true';
if (PERL === null) console.warn('skipped: locks of another program, because perl is not installed');

/**
 * Locks all bytes that stand for the locks of the journal's index (sqlite.org, "WAL-mode
 * File Format", section 2.3). Holds the locks until the input of the program ends.
 */
const PROGRAM = `
use strict; use Fcntl; $| = 1;
open(my $index, '+<', $ARGV[0]) or die "$ARGV[0]: $!";
my $lock = pack('s s x4 q q i x4', F_WRLCK, 0, 120, 8, 0);
fcntl($index, F_SETLKW, $lock) or die "lock: $!";
print "held\\n"; <STDIN>;`;

/**
 * Locks a database against reading and writing, like a program that
 * repairs its journal. No statement succeeds until the lock is released.
 *
 * @param path path of a database in WAL mode that this process, or another one, has opened
 */
export async function lockDatabase(path: string): Promise<{ release(): Promise<void> }> {
  const child = spawn(PERL ?? 'perl', ['-e', PROGRAM, `${path}-shm`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
  const held = once(child.stdout, 'data');
  await Promise.race([
    held,
    exited.then(([code]) => {
      throw new Error(`perl ended with ${code}, and has locked nothing`);
    }),
  ]);
  return {
    async release() {
      child.stdin.end();
      await exited;
    },
  };
}
