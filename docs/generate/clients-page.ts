import type { Answer } from '../../test/conformance/answers/answer.ts';
import type { Observation } from '../../test/conformance/answers/clients/client.ts';
import {
  CLIENTS,
  differingAnswers,
  isSame,
  OBSERVATIONS,
  observed,
} from '../../test/conformance/answers/comparison.ts';
import { CORPUS } from '../../test/conformance/answers/corpus.ts';
import { DIFFERENCES } from '../../test/conformance/answers/differences.ts';

/** `docs/reference/http-clients.md`: compares the HTTP probe with other clients, from observations of them. */
export function clientsPage(): string {
  const versions = CLIENTS.map((client) => OBSERVATIONS[client].version);
  const differing = differingAnswers();
  const count = [...differing.values()].flat().length;
  return [
    '# The HTTP probe beside other clients',
    '',
    '<!-- Written by `npm run docs`; do not edit. -->',
    '',
    `A server on loopback sent ${CORPUS.length} answers, byte by byte as they are in \`test/conformance/answers/\`, to the probe and to`,
    `${versions.join(', ')} (curl followed redirects with its cookie engine, and decoded`,
    'bodies where the family tests that; Chromium used `fetch`; blackbox_exporter accepted every status).',
    'The tests hold the probe to the column "probe" at each run; `node test/conformance/answers/observe.ts` observes the others anew.',
    '',
    `All four agree on ${CORPUS.length - count} answers: refused by all, or the same status and the same body. The tables below list the other ${count},`,
    "with the reason for the probe's choice. The rule: the probe accepts an answer that curl, browsers and Go's client (which blackbox_exporter",
    'uses) all accept, unless it can be read in two ways, is cut off, or is larger than the bounds.',
    '',
    '## By family',
    '',
    ...table(
      ['family', 'answers', 'as curl', 'as Chromium', 'as blackbox_exporter', 'as all three'],
      [...Map.groupBy(CORPUS, ({ family }) => family)].map(([family, answers]) => [
        family,
        answers.length,
        ...CLIENTS.map(
          (client) => answers.filter((answer) => isSame(answer, observed(client, answer))).length,
        ),
        answers.filter((answer) => CLIENTS.every((client) => isSame(answer, observed(client, answer))))
          .length,
      ]),
    ),
    '',
    ...DIFFERENCES.flatMap((difference) => {
      const answers = differing.get(difference);
      return answers === undefined
        ? []
        : ['', `## ${difference.about}`, '', difference.why, '', ...rowsOf(answers)];
    }),
    '',
  ].join('\n');
}

function rowsOf(answers: readonly Answer[]): string[] {
  const rows = answers.map((answer) => [
    code(answer.id),
    ours(answer),
    ...CLIENTS.map((client) => theirs(answer, observed(client, answer))),
  ]);
  return table(['answer', 'probe', 'curl', 'Chromium', 'blackbox_exporter'], rows);
}

function ours({ expected }: Answer): string {
  return 'refused' in expected ? 'refused' : seen({ ...expected, bytes: expected.body.length });
}

function theirs(answer: Answer, observation: Observation): string {
  if ('refused' in observation) return 'refused';
  return isSame(answer, observation) ? ours(answer) : seen(observation);
}

function seen({ status, bytes, body }: Exclude<Observation, { refused: string }>): string {
  const text =
    body !== undefined && /^[\x20-\x7e\r\n\t]*$/.test(body) && body.length <= 30
      ? JSON.stringify(body)
      : `${bytes} bytes`;
  return `${status} ${code(text)}`;
}

function code(text: string): string {
  const shown = text.replaceAll('|', '\\|').replace(/[^\x20-\x7e]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  const fence = shown.includes('`') ? '``' : '`';
  return `${fence}${shown}${fence}`;
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}
