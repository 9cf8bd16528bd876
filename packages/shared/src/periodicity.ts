/** The periods at which a monitor can be checked. */
export const PERIODICITIES = ['30s', '1m', '5m', '10m', '30m', '1h'] as const;

export type Periodicity = (typeof PERIODICITIES)[number];

const MILLISECONDS: { readonly [P in Periodicity]: number } = {
  '30s': 30_000,
  '1m': 60_000,
  '5m': 300_000,
  '10m': 600_000,
  '30m': 1_800_000,
  '1h': 3_600_000,
};

/** Length of a period in milliseconds. */
export function periodMs(periodicity: Periodicity): number {
  return MILLISECONDS[periodicity];
}
