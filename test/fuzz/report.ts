import type { Finding } from './fuzz.ts';

/** Only the beginning of longer inputs is shown. */
const SHOWN_BYTES = 400;

/** The message of a problem, and the place where it was found. */
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
