import { deepEqual } from 'node:assert/strict';
import type { Instrument } from '@svc/shared/metrics/instrument.ts';
import { prometheusText } from '@svc/shared/metrics/prometheus.ts';
import { parsePrometheus } from '../../support/prometheus-text.ts';
import { type FuzzTarget, latin1, never } from '../target.ts';

/** Metrics with the texts and numbers of an input, which has lines of label and value. */
function written(input: Buffer): { text: string; lines: [label: string, value: number][] } {
  const lines = [
    ...new Map(
      input
        .toString()
        .split('\r')
        .map((line): [string, number] => {
          const at = line.lastIndexOf(' ');
          return [line.slice(0, Math.max(0, at)), Number(line.slice(at + 1))];
        }),
    ),
  ];
  const instrument = {
    name: 'svc_fuzzed_total',
    kind: 'gauge',
    description: input.toString(),
    unit: '1',
    label: { name: 'what', values: {} },
  } as unknown as Instrument;
  const points = lines.map(([what, value]) => ({ labels: { what }, value, startedAt: 0 }));
  return { text: prometheusText([{ instrument, points }]), lines };
}

export const PROMETHEUS: FuzzTarget = {
  name: 'prometheus',
  corpus: [
    'new 1\rrepeated 0.5',
    'a "quoted" \\ text 1e21\rü😀 -0',
    ' NaN\rx Infinity\ry -Infinity',
    'a\nb 1',
  ].map(latin1),
  words: ['"', '\\', '\n', '\\n', '{', '}', ',', '=', ' ', '\r', '\u2028', ' 1e-7', ' 123456789012345680000'],
  parse: written,
  isRefusal: never,
  check(input) {
    const { text, lines } = written(input);
    const samples = parsePrometheus(text).get('svc_fuzzed_total')?.samples ?? [];
    deepEqual(
      samples.map(({ labels, value }) => [labels.what, value + 0]),
      lines.map(([what, value]) => [what, value + 0]),
    );
  },
};
