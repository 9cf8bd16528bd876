import type { Finding } from './fuzz.ts';

/** Longer inputs are shown by their beginning. */
const SHOWN_BYTES = 400;

/** Of a problem: its message, and where it was found. */
const SHOWN_LINES = 30;

/** A finding for people, with the command that shows it again. */
export function reportOf({ target, seed, problem, input }: Finding): string {
  const shown = input.subarray(0, SHOWN_BYTES);
  const rest = input.length > SHOWN_BYTES ? ` (the first ${SHOWN_BYTES} of ${input.length} bytes)` : '';
  return [
    `${target}: ${problem.split('\n').slice(0, SHOWN_LINES).join('\n')}`,
    `  input${rest}: ${JSON.stringify(shown.toString('latin1'))}`,
    `  in base64: ${shown.toString('base64')}`,
    `  again: npm run fuzz -- --only ${target} --seed ${seed} --seconds 1`,
  ].join('\n');
}
