import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KNOWN_VARIABLES } from '@svc/shared/setting-names.ts';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Files and folders below these, without what is installed, built or kept there. */
function below(pattern: string): string[] {
  const exclude = (path: string): boolean => /(?:^|\/)(?:node_modules|dist|data)(?:\/|$)/.test(path);
  return globSync(pattern, { cwd: ROOT, exclude });
}

const FILES = [...below('*.{md,json,ts}'), ...below('{packages,test,deploy,docs}/**/*')];

const PAGES = FILES.filter((path) => path.endsWith('.md'));
const DECISIONS = PAGES.filter((path) => /^docs\/decisions\/\d{4}-/.test(path)).sort();
const INDEX = 'docs/decisions/README.md';
const numberOf = (path: string): string => basename(path).slice(0, 4);

/** Text of a page without its blocks of code, which show what users write. */
const prose = (path: string): string =>
  read(path)
    .replaceAll(/^(```|~~~)[\s\S]*?^\1/gm, '')
    .replaceAll(/^ {4,}[^ -].*$/gm, '');

describe('decisions', () => {
  const numbers = new Set(DECISIONS.map(numberOf));
  const areas = [...read(INDEX).matchAll(/^## (.+)$/gm)].map(([, area]) => area ?? '');

  test.each(DECISIONS)('%s has the form of a decision', (path) => {
    const text = read(path);
    const [title = '', blank, date = '', status = '', area = ''] = text.split('\n');
    expect(title).toMatch(new RegExp(`^# ${numberOf(path)}: \\S`));
    expect(blank).toBe('');
    expect(date).toMatch(/^- Date: \d{4}-\d{2}-\d{2}$/);
    expect(status).toBe('- Status: accepted');
    expect(areas).toContain(area.replace('- Area: ', ''));
    const sections = [...text.matchAll(/^##+ (.+)$/gm)].map(([, section]) => section);
    expect(sections).toEqual(['Context', 'Choice', 'Consequences']);
    expect(text.split('\n').length - 1).toBeLessThan(40);
  });

  test('no number is given twice', () => {
    expect(numbers.size).toBe(DECISIONS.length);
  });

  test('the index has a line for each, under its area and in the order of the numbers', () => {
    const lines = Map.groupBy(DECISIONS, (path) => /^- Area: (.+)$/m.exec(read(path))?.[1] ?? '');
    const expected = areas.map((area) => [
      area,
      (lines.get(area) ?? []).map((path) => {
        const title = /^# \d{4}: (.+)$/m.exec(read(path))?.[1];
        return `- [${numberOf(path)}](${basename(path)}): ${title}`;
      }),
    ]);
    const sections = read(INDEX).split(/^## /m).slice(1);
    const found = sections.map((section) => {
      const [area, ...rest] = section.split('\n');
      return [area, rest.filter((line) => line !== '')];
    });
    expect(found).toEqual(expected);
  });

  test('every decision that code or a page cites is recorded', () => {
    const sources = FILES.filter((path) => /\.(?:ts|mjs|sh|md|yaml)$/.test(path) && path !== INDEX);
    const cited = sources.flatMap((path) => {
      const text = read(path).replaceAll(/\n[ *#/]+/g, ' ');
      const named = [...text.matchAll(/decisions?[ /[]+((?:\d{4}(?:, | and )?)+)/gi)];
      // Decisions cite each other by the number alone, in brackets or at the end of a sentence.
      const bare = DECISIONS.includes(path) ? [...text.matchAll(/\((\d{4})\)|in (\d{4})\./g)] : [];
      return [...named, ...bare].flatMap(([all]) =>
        (all.match(/\d{4}/g) ?? []).map((number) => [path, number]),
      );
    });
    expect(cited.length).toBeGreaterThan(60);
    expect(cited.filter(([, number]) => !numbers.has(number ?? ''))).toEqual([]);
  });
});

describe('pages name what there is', () => {
  /** Built, kept by a running service, of the machine, or of the reader. */
  const NOT_OURS =
    /^(?:dist\/|data\/|\/|(?:coordinator|agent)\.mjs$|provider\.cjs$|\.cjs$|nats\.conf$|(?:resolv|nsswitch)\.conf$|my\.yaml$|…?-worker\.ts$|\.\/x-worker\.ts$|HTTP\/$|@)/;
  /** Their lines tell of the past, or are made of what was observed or built. */
  const isChecked = (path: string): boolean =>
    path !== 'CHANGELOG.md' && path !== 'docs/reference/http-clients.md';

  test.each(PAGES.filter(isChecked))('%s: files and folders', (path) => {
    const named = [...prose(path).matchAll(/`([\w<>@./…-]+(?:\/|\.(?:tsx?|mjs|cjs|md|json|sh|conf|yaml)))`/g)]
      .map(([, name]) => name ?? '')
      .filter((name) => !NOT_OURS.test(name));
    const missing = named.filter((name) => {
      const pattern = name.replace(/\/$/, '').replaceAll('.', '\\.').replaceAll(/<\w+>/g, '[^/]+');
      const end = new RegExp(`(?:^|/)${pattern}$`);
      return !FILES.some((file) => end.test(file));
    });
    expect(missing).toEqual([]);
  });

  test.each(PAGES)('%s: links', (path) => {
    const links = [...read(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link ?? '');
    const broken = links.filter((link) => {
      if (/^(?:https?|mailto):/.test(link)) return false;
      const [target = '', anchor] = link.split('#');
      const file = target === '' ? path : normalize(join(dirname(path), target)).replace(/\/$/, '');
      if (!FILES.includes(file) && !FILES.some((one) => one.startsWith(`${file}/`))) return true;
      return anchor !== undefined && !anchorsOf(file).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test.each(PAGES.filter(isChecked))('%s: scripts of npm and settings', (path) => {
    const text = read(path);
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const run = [...text.matchAll(/\bnpm run (?:--silent )?([a-z]+)/g)].map(([, script]) => script ?? '');
    expect(run.filter((script) => !(script in scripts))).toEqual([]);
    const settings = (text.match(/\bSVC_[A-Z][A-Z_]*[A-Z]\b/g) ?? []).filter(
      (name) => !OTHER_NAMES.test(name),
    );
    expect(settings.filter((name) => !KNOWN_VARIABLES.has(name))).toEqual([]);
  });
});

/** Streams of NATS, settings of the tests, and beginnings of names. */
const OTHER_NAMES = /^SVC_(?:RESULTS|TEST_[A-Z]+)$/;

/** Anchors of the headings of a page, as GitHub makes them. */
function anchorsOf(path: string): string[] {
  return [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
