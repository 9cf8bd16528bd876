import { PROBLEMS } from '@svc/coordinator/api/problem.ts';
import { PROBLEM_CODES, PROBLEM_MEANINGS } from '@svc/shared/api/problem-codes.ts';
import { ERROR_TABLES } from '@svc/shared/error-codes.ts';

/** `docs/reference/problem-codes.md`, from the tables of codes in the code. */
export function problemCodesPage(): string {
  return [
    '# Problem codes',
    '',
    '<!-- Written by `npm run docs`; do not edit. -->',
    '',
    'Codes are stable: programs may match on them. Messages are for people, and may change with any version.',
    '',
    '## Problems of the HTTP API',
    '',
    'The API reports errors as `application/problem+json` (RFC 9457). Its `type` is `urn:svc:problem:` and the code.',
    '',
    '| code | status | title | meaning |',
    '| --- | --- | --- | --- |',
    ...PROBLEM_CODES.map((code) => {
      const { status, title } = PROBLEMS[code];
      return `| \`${code}\` | ${status} | ${title} | ${PROBLEM_MEANINGS[code]} |`;
    }),
    '',
    '## Codes of errors',
    '',
    'An error inside svc has the member `code`. The codes of the HTTP API are used there too, where an error becomes a problem.',
    ...ERROR_TABLES.flatMap(([heading, codes]) => [
      '',
      `### ${heading}`,
      '',
      '| code | meaning |',
      '| --- | --- |',
      ...Object.entries(codes).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`),
    ]),
    '',
  ].join('\n');
}
