import { LIMITS } from '@svc/shared/limits.ts';
import { isTimeZone, localAt } from '../../verdict/local-time.ts';
import type { Control, Field, Option, ResourceForm } from '../forms/fields.ts';

/*
 * Fields of the forms of incidents and maintenance. The code of each form lists its fields, because these
 * objects have no resource definition from which forms could be derived.
 */

type Meaning = { readonly help?: string; readonly isRequired?: boolean };

/**
 * A field of an incident's or a maintenance window's form.
 *
 * @param name name of the attribute in the body of the API's request
 */
export function noteField(
  name: string,
  label: string,
  control: Control,
  { help = '', isRequired = false }: Meaning = {},
): Field {
  return { name, label, help, isRequired, fallback: null, secret: null, isFixed: false, control };
}

/**
 * A form of these fields.
 *
 * @param hasSections whether the form has sections; left out: it has none
 */
export function noteForm(fields: readonly Field[], { hasSections = false } = {}): ResourceForm {
  return { kind: null, constants: {}, fields, chooser: null, hasSections };
}

export const LINE: Control = { type: 'text', isMultiline: false };
export const LINES: Control = { type: 'text', isMultiline: true, maximumLength: LIMITS.noteText };

export function choiceOf(options: readonly Option[]): Control {
  return { type: 'choice', options };
}

export const PAGE_IDS: Control = { type: 'references', kinds: ['svc_status_page'] };
export const COMPONENT_IDS: Control = { type: 'references', kinds: ['svc_status_page_component'] };

/**
 * Converts an instant to the local date and time that an input of a form contains: `2027-01-01T02:00`.
 *
 * @param instant as the API answers it
 * @param zone    time zone; an unknown zone counts as UTC
 * @returns null: `instant` is no text
 */
export function localText(instant: unknown, zone: string): string | null {
  if (typeof instant !== 'string') return null;
  const local = localAt(isTimeZone(zone) ? zone : 'UTC', Date.parse(instant));
  return new Date(local).toISOString().replace(/(?::00)?(?:\.000)?Z$/, '');
}
