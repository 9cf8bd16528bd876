import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import { parseDeclaration } from '../../../../test/support/read-declaration.ts';
import { declaredJson, declaredYaml } from './declared-file.ts';
import { exportDocument } from './document.ts';

const text = fc.oneof(
  anyText(),
  fc.string({ unit: 'grapheme' }),
  fc.string({
    unit: fc.constantFrom('$', '{', '}', '\n', ' ', '\t', '#', ':', '-', '"', "'", '\\', '|', '>', 'a'),
  }),
  fc.constantFrom(
    '',
    'null',
    'true',
    '~',
    '0x1',
    '1e3',
    '.inf',
    '2026-01-01',
    '!!str a',
    '&a',
    '*a',
    '<<',
    '---',
    '...',
  ),
);

/** A monitor as the API answers it. The body may be any text. */
function monitor(body: string) {
  const answered = { name: 'a', url: 'http://a.example', periodicity: '1m', body };
  return { kind: 'svc_http_monitor' as const, id: '1', answered };
}

test.each([
  { format: 'yaml', written: declaredYaml },
  { format: 'json', written: declaredJson },
])('every text is read back from $format as it was', ({ written }) => {
  fc.assert(
    fc.property(
      text.filter((each) => each.isWellFormed()),
      (body) => {
        const file = written(exportDocument([monitor(body)]), 'inline', ['Exported']);
        const sources = { env: {}, readFile: () => '' };
        const { entries, errors } = parseDeclaration(file, 'svc.yaml', sources);
        expect(errors).toEqual([]);
        expect(entries).toMatchObject([{ name: 'a', attributes: { name: 'a', body } }]);
      },
    ),
    { numRuns: 300, examples: [[' \n'], ['a\n \nb']] },
  );
});
