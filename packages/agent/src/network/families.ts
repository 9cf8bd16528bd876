/** An address family: IPv4 or IPv6. */
export type Family = 4 | 6;

/**
 * The address families of an attempt. Empty: the families are not known, because
 * no name was resolved, a proxy connects to the target, or it is a DNS check.
 */
export type Families = readonly Family[];

export const NO_FAMILY: Families = [];
export const ONLY_IPV4: Families = [4];
export const ONLY_IPV6: Families = [6];
export const BOTH_FAMILIES: Families = [4, 6];

/** The families of the addresses. The function creates no list, because every attempt calls it. */
export function familiesOf(addresses: readonly { readonly family: Family }[]): Families {
  const has4 = addresses.some(({ family }) => family === 4);
  const has6 = addresses.some(({ family }) => family === 6);
  if (has4) return has6 ? BOTH_FAMILIES : ONLY_IPV4;
  return has6 ? ONLY_IPV6 : NO_FAMILY;
}

/**
 * Whether an attempt over `families` says something about one of the
 * families in `others`. If `others` is empty, every attempt does.
 */
export function isBy(families: Families, others: Families): boolean {
  return others.length === 0 || others.some((family) => families.includes(family));
}
