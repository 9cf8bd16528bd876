/**
 * The 28 regions from which a monitor can be checked, in the order in which they are shown. Add new regions
 * only at the end, because stored results and states refer to the position in this list.
 */
export const REGIONS = [
  'hosta-ams',
  'hosta-arn',
  'hosta-bom',
  'hosta-cdg',
  'hosta-dfw',
  'hosta-ewr',
  'hosta-fra',
  'hosta-gru',
  'hosta-iad',
  'hosta-jnb',
  'hosta-lax',
  'hosta-lhr',
  'hosta-nrt',
  'hosta-ord',
  'hosta-sjc',
  'hosta-sin',
  'hosta-syd',
  'hosta-yyz',
  'hostb-fra',
  'hostb-par',
  'hostb-sfo',
  'hostb-sin',
  'hostb-tyo',
  'hostb-was',
  'hostc-us-west2',
  'hostc-us-east4',
  'hostc-europe-west4',
  'hostc-asia-southeast1',
] as const;

export type Region = (typeof REGIONS)[number];

const known: ReadonlySet<string> = new Set(REGIONS);

export function isRegion(value: string): value is Region {
  return known.has(value);
}
