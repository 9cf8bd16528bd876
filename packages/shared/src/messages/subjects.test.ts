import fc from 'fast-check';
import { expect, test } from 'vitest';
import { REGIONS } from '../regions.ts';
import { isResultsSubjectOf, regionOfSubject, resultsSubject } from './subjects.ts';

const [HERE, THERE] = ['hosta-fra', 'hostb-par'] as const;

test.each([
  ['svc.results.hosta-fra', true],
  ['svc.results.hosta-fra.s0', true],
  ['svc.results.hosta-fra.a_B-9', true],
  ['svc.results.hostb-par', false],
  ['svc.results.hostb-par.hosta-fra', false],
  ['svc.results.hosta-fra2', false],
  ['svc.results.hosta-fra.', false],
  ['svc.results.hosta-fra.*', false],
  ['svc.results.hosta-fra.>', false],
  ['svc.results.hosta-fra.a.b', false],
  ['svc.results.hosta-fra.a b', false],
  ['svc.results.hosta-fra.a\r\nPUB', false],
  [`svc.results.hosta-fra.${'x'.repeat(65)}`, false],
  ['svc.results.*', false],
  ['svc.jobs.hosta-fra', false],
  ['svc.heartbeats.hosta-fra', false],
  ['$JS.API.STREAM.PURGE.SVC_RESULTS', false],
  ['', false],
])('%j is a subject for the results of hosta-fra: %s', (subject, is) => {
  expect(isResultsSubjectOf(HERE, subject)).toBe(is);
  expect(isResultsSubjectOf(THERE, subject)).toBe(
    subject === resultsSubject(THERE) || subject.startsWith(`${resultsSubject(THERE)}.`),
  );
});

test('a subject on which a region may report always names that region', () => {
  const token = fc.stringMatching(/^[\w-]{1,64}$/);
  fc.assert(
    fc.property(fc.constantFrom(...REGIONS), fc.option(token), (region, below) => {
      const subject = below === null ? resultsSubject(region) : `${resultsSubject(region)}.${below}`;
      expect(isResultsSubjectOf(region, subject)).toBe(true);
      expect(regionOfSubject(subject)).toBe(region);
    }),
  );
});

test.each(['svc.results.hosta-mars', 'svc.results', 'hosta-fra', '', 'svc.results.Mars.hosta-fra'])(
  '%j names no region',
  (subject) => {
    expect(regionOfSubject(subject)).toBeNull();
  },
);

test('whatever a subject is, at most one region may report on it', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      for (const subject of [text, `svc.results.${text}`, `${resultsSubject(HERE)}.${text}`]) {
        const regions = REGIONS.filter((region) => isResultsSubjectOf(region, subject));
        expect(regions.length).toBeLessThanOrEqual(1);
        if (regions.length === 1) expect(regionOfSubject(subject)).toBe(regions[0]);
      }
    }),
  );
});
