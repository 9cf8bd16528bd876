import type { Value } from '../resources/definition.ts';

/** A description followed by the bounds of the value, as sentences in Markdown. */
export function meaning(value: Value, description: string): string {
  const bounds = [
    value.oneOf === undefined ? '' : `One of ${value.oneOf.map((option) => `\`${option}\``).join(', ')}.`,
    value.references === undefined
      ? ''
      : `Refers to ${value.references.map((kind) => `\`${kind}\``).join(', ')}.`,
    value.form === undefined ? '' : `Format: ${value.form}.`,
    range(value),
    lengths(value),
    value.maximumItems === undefined ? '' : `At most ${value.maximumItems} items.`,
  ];
  return [description, ...bounds.filter((bound) => bound !== '')].join(' ');
}

function range({ minimum, maximum, unit }: Value): string {
  const suffix = unit === undefined ? '' : ` ${unit}`;
  if (minimum === undefined) return '';
  return maximum === undefined ? `${minimum}${suffix} or more.` : `${minimum} to ${maximum}${suffix}.`;
}

function lengths({ minimumLength, maximumLength }: Value): string {
  if (maximumLength === undefined) return '';
  return minimumLength === undefined
    ? `At most ${maximumLength} characters.`
    : `${minimumLength} to ${maximumLength} characters.`;
}
