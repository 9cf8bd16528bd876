/** A sample as it is printed: `name{label="value"}`, and its value. */
export type Sample = {
  /** The name of the series with its labels. */
  readonly series: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

export type MetricFamily = { readonly help: string; readonly type: string; readonly samples: Sample[] };

/**
 * Reads Prometheus' text format 0.0.4 strictly: a line outside the format, a sample before its `# TYPE`, and
 * a repeated series are errors.
 *
 * @throws Error that names the line
 */
export function parsePrometheus(text: string): ReadonlyMap<string, MetricFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const families = new Map<string, MetricFamily>();
  const helps = new Map<string, string>();
  const seen = new Set<string>();
  for (const line of text.slice(0, -1).split('\n')) {
    const help = /^# HELP ([a-zA-Z_:][\w:]*) (.*)$/s.exec(line);
    const type = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram)$/.exec(line);
    if (help !== null) helps.set(help[1] as string, help[2] as string);
    else if (type !== null) {
      const name = type[1] as string;
      families.set(name, { help: helps.get(name) ?? '', type: type[2] as string, samples: [] });
    } else {
      const sample = sampleIn(line);
      const family =
        families.get(sample.name) ?? families.get(sample.name.replace(/_(bucket|sum|count)$/, ''));
      if (family === undefined) throw new Error(`a sample before its type: ${line}`);
      if (seen.has(sample.series)) throw new Error(`a series that comes twice: ${line}`);
      seen.add(sample.series);
      family.samples.push(sample);
    }
  }
  return families;
}

/** The samples that a process answers at `/metrics`, by their series. */
export async function scrape(url: string): Promise<ReadonlyMap<string, number>> {
  // A connection that is kept may be closed by the server while the request is on its way.
  const response = await fetch(`${url}/metrics`, { headers: { connection: 'close' } });
  if (!response.ok) throw new Error(`GET /metrics answered ${response.status}`);
  const families = [...parsePrometheus(await response.text()).values()];
  return new Map(families.flatMap(({ samples }) => samples.map(({ series, value }) => [series, value])));
}

function sampleIn(line: string): Sample {
  const match = /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)$/.exec(line);
  const value = numberIn(match?.[3] ?? '');
  if (match === null || value === null) throw new Error(`no line of the format: ${line}`);
  const [, name = '', labels = ''] = match;
  const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)];
  return {
    series: `${name}${labels}`,
    name,
    labels: Object.fromEntries(pairs.map(([, label = '', text = '']) => [label, unescaped(text)])),
    value,
  };
}

/** The number that the text states; null: the text is not a number. */
function numberIn(text: string): number | null {
  const named: Readonly<Record<string, number>> = {
    NaN: Number.NaN,
    '+Inf': Number.POSITIVE_INFINITY,
    '-Inf': Number.NEGATIVE_INFINITY,
  };
  const value = named[text] ?? Number(text);
  return text === '' || (Number.isNaN(value) && text !== 'NaN') ? null : value;
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(["\\n])/g, (_, character) => (character === 'n' ? '\n' : character));
}
