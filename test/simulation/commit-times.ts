import { noise } from './random.ts';
import type { CommitTime } from './slow-store.ts';
import type { World } from './world.ts';

/** Numbers of the dice: what each die decides. */
const [WRITE, ANSWER, STALL, FAILURE] = [101, 102, 103, 104] as const;
const NONE: CommitTime = { writeMs: 0, answerMs: 0 };

/** Returns the function that gives the duration of each commit of a world, by the number of the commit. */
export function commitTimes({ seed, commits }: World): (commit: number) => CommitTime {
  if (commits === null) return () => NONE;
  const { writeMs, answerMs, stalls, stallMs, failures = 0 } = commits;
  return (commit) => {
    const longestMs = noise(seed, STALL, 0, commit) < stalls ? stallMs : writeMs;
    return {
      writeMs: 1 + Math.floor(longestMs * noise(seed, WRITE, 0, commit)),
      answerMs: Math.floor(answerMs * noise(seed, ANSWER, 0, commit)),
      fails: noise(seed, FAILURE, 0, commit) < failures,
    };
  };
}
