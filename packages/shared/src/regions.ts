import { z } from 'zod';

/**
 * The 28 regions that every installation has, in the order in which they are shown. The list never grows,
 * because stored results refer to the position in it, and the next numbers are those of regions of one's own.
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

/** The id of one of the 28 regions. */
export type FixedRegion = (typeof REGIONS)[number];

/** The id of a region: one of {@link REGIONS}, or of a region of one's own. */
export type Region = string;

const PLACES: ReadonlyMap<string, number> = new Map(REGIONS.map((region, place) => [region, place]));

/** The format, in JSON Schema, of ids of regions that users write. */
export const REGION_FORMAT = 'region';

/** A region of one's own, as the settings name it. `name`: what people see before the id. */
export type OwnRegion = { readonly id: Region; readonly name: string | null };
/** Maximum number of regions of one's own. */
export const MOST_OWN_REGIONS = 100;
/** Maximum number of regions of an installation, and so of a monitor. */
export const MOST_REGIONS = REGIONS.length + MOST_OWN_REGIONS;

/** All regions of an installation, in the order in which they are shown. */
export function regionsWith(own: readonly OwnRegion[]): readonly Region[] {
  return [...REGIONS, ...own.map(({ id }) => id)].sort(compareRegions);
}

/** What people see of a region, by its id. Programs see the id. */
export type RegionText = (region: Region) => string;

/** Shows a region of one's own that has a name as `Berlin office (office-berlin)`, and any other region by its id. */
export function regionTexts(own: readonly OwnRegion[]): RegionText {
  const named = own.flatMap(({ id, name }) => (name === null ? [] : [[id, `${name} (${id})`] as const]));
  const texts: ReadonlyMap<Region, string> = new Map(named);
  return (region) => texts.get(region) ?? region;
}

/** Whether the text is one of the 28 regions. */
export function isFixedRegion(value: string): value is FixedRegion {
  return PLACES.has(value);
}

/** Form of the id of a region of one's own. {@link isOwnRegionId} excludes two further names. */
export const OWN_ID = /^(?!host[abc]-)[a-z0-9-]{3,32}$/;
/** Names that parts of an installation other than regions have, see `svc region`. */
const OTHER_PARTS: readonly string[] = ['coordinator', 'system'];

/** Whether the text can be the id of a region of one's own. */
export function isOwnRegionId(value: string): boolean {
  return OWN_ID.test(value) && !OTHER_PARTS.includes(value);
}

/** Whether the text can be the id of a region in some installation. */
export function isRegionId(value: string): value is Region {
  return isFixedRegion(value) || isOwnRegionId(value);
}

/** Schema of the id of a region in an answer or a stored value. */
export const regionId = z.string().meta({
  pattern: '^[a-z0-9-]{3,32}$',
  description: "Id of a region: one of the 28, or one of the installation's own.",
});

/**
 * Schema of the id of a region in a request. The API's description has the regions of the installation in the
 * place of this format.
 */
export const givenRegionId = z.string().meta({ format: REGION_FORMAT }).refine(isRegionId, 'is not a region');

/** The order in which regions are shown: the 28 in their order, then regions of one's own by their ids. */
export function compareRegions(one: Region, other: Region): number {
  const [place, otherPlace] = [PLACES.get(one) ?? REGIONS.length, PLACES.get(other) ?? REGIONS.length];
  if (place !== otherPlace) return place - otherPlace;
  return one < other ? -1 : Number(one > other);
}
