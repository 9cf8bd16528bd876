/** Words that a label writes otherwise than a name does. */
const WRITTEN: Readonly<Record<string, string>> = {
  url: 'URL',
  uri: 'URI',
  id: 'ID',
  api: 'API',
  otlp: 'OTLP',
};

/** An attribute's name in words: `contact_url` is `Contact URL`. */
export function labelOf(name: string): string {
  const words = name.split('_').map((word) => WRITTEN[word] ?? word);
  const text = words.join(' ');
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** What the rows of a list are called one by one: `Status code assertion`. */
export function singular(label: string): string {
  return label.replace(/s$/, '');
}

/** A description up to its first stop: `Custom HTTP endpoint`. */
export function firstPhrase(description: string): string {
  return description.split(/[.:]/, 1)[0] ?? description;
}

/** Values that people choose, where their names do not say it. Other values are shown as they are. */
const OPTION_LABELS: Readonly<Record<string, string>> = {
  eq: 'equals',
  neq: 'does not equal',
  contains: 'contains',
  not_contains: 'does not contain',
  empty: 'is empty',
  not_empty: 'is not empty',
  gt: 'is greater than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  '30s': 'every 30 seconds',
  '1m': 'every minute',
  '5m': 'every 5 minutes',
  '10m': 'every 10 minutes',
  '30m': 'every 30 minutes',
  '1h': 'every hour',
  public: 'everybody',
  password: 'who knows the password',
  'email-domain': 'who has an address at an e-mail domain',
  monitor: 'a monitor',
  static: 'a static text',
};

export function optionLabel(value: string): string {
  return OPTION_LABELS[value] ?? value;
}
