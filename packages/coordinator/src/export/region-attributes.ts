import { REGIONS } from '@svc/shared/regions.ts';
import { Attributes, type AttributeValue } from './attributes.ts';
import { ERROR_TYPES } from './error-type.ts';
import { ATTRIBUTE } from './metrics.ts';
import { COUNTED_OUTCOMES, PHASE_NAMES, type ReadResult } from './note.ts';

/** Key of what is beyond the bound of series. */
export const OVERFLOW = -1;
/** Status codes are below it. */
const CODES = 1_000;

/**
 * The attributes that points of a region have of their own. There is one object for each region, whatever the
 * number of monitors.
 */
export class RegionAttributes {
  readonly region: Attributes;
  /** As {@link COUNTED_OUTCOMES} has them. */
  readonly outcomes: readonly Attributes[];
  /** As {@link PHASE_NAMES} has them. */
  readonly phases: readonly Attributes[];
  readonly #durations = new Map<number, Attributes>();
  readonly #name: string;
  static readonly #made: RegionAttributes[] = [];

  private constructor(name: string) {
    this.#name = name;
    this.region = this.#with();
    this.outcomes = COUNTED_OUTCOMES.map((outcome) => this.#with([ATTRIBUTE.outcome, outcome]));
    this.phases = PHASE_NAMES.map((phase) => this.#with([ATTRIBUTE.phase, phase]));
  }

  /** @param region place in the list of regions */
  static of(region: number): RegionAttributes {
    const known = RegionAttributes.#made[region];
    if (known !== undefined) return known;
    const made = new RegionAttributes(REGIONS[region] ?? '');
    RegionAttributes.#made[region] = made;
    return made;
  }

  /** @param key as {@link durationKey} makes it, or {@link OVERFLOW} */
  duration(key: number): Attributes {
    const known = this.#durations.get(key) ?? this.#with(...attributesIn(key));
    this.#durations.set(key, known);
    return known;
  }

  #with(...more: readonly (readonly [string, AttributeValue])[]): Attributes {
    return new Attributes([[ATTRIBUTE.region, this.#name], ...more]);
  }
}

/** How a check ended as one number. The parts that are missing are 0; the others begin at 1. */
export function durationKey({ outcome, statusCode, errorType }: ReadResult): number {
  const code = Number.isNaN(statusCode) ? 0 : statusCode + 1;
  const error = Number.isNaN(errorType) ? 0 : errorType + 1;
  return (error * COUNTED_OUTCOMES.length + outcome) * (CODES + 1) + code;
}

function attributesIn(key: number): [string, AttributeValue][] {
  if (key === OVERFLOW) return [[ATTRIBUTE.overflow, true]];
  const code = key % (CODES + 1);
  const rest = Math.floor(key / (CODES + 1));
  const outcome = COUNTED_OUTCOMES[rest % COUNTED_OUTCOMES.length] ?? COUNTED_OUTCOMES[0];
  const error = ERROR_TYPES[Math.floor(rest / COUNTED_OUTCOMES.length) - 1];
  return [
    [ATTRIBUTE.outcome, outcome],
    ...(code === 0 ? [] : [[ATTRIBUTE.statusCode, code - 1] as [string, number]]),
    ...(error === undefined ? [] : [[ATTRIBUTE.errorType, error] as [string, string]]),
  ];
}
