import { type Html, html, NO_HTML } from '../../web/html.ts';
import type { Control, Field } from './fields.ts';

/** Returns a description as HTML. Names in back quotes become code. */
export function withCode(text: string): Html {
  const parts = text.split('`');
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

/** The description of a field and the bounds of its value; empty if the field has no description. */
export function helpOf({ help, control }: Pick<Field, 'help' | 'control'>): Html {
  if (help === '') return NO_HTML;
  const bounds = boundsOf(control);
  return html`${withCode(help)}${bounds === null ? '' : ` ${bounds}`}`;
}

/** The bounds of a value in a sentence; null: there are no bounds to show. */
function boundsOf(control: Control): string | null {
  switch (control.type) {
    case 'text':
      return textBounds(control);
    case 'number':
      return numberBounds(control);
    case 'texts':
      return 'One on each line.';
    case 'rows':
      return `At most ${figure(control.maximum)}.`;
    default:
      return null;
  }
}

function textBounds({ form, maximumLength }: Extract<Control, { type: 'text' }>): string | null {
  if (form !== undefined) return `Form: ${form}.`;
  return maximumLength === undefined ? null : `At most ${figure(maximumLength)} characters.`;
}

function numberBounds({ minimum, maximum, unit }: Extract<Control, { type: 'number' }>): string | null {
  // A minimum as low as this is −2³¹, the least 32-bit integer. It would tell users nothing.
  if (minimum !== undefined && minimum < -1e9) return null;
  const measured = unit === undefined ? '' : ` ${unit}`;
  if (minimum === undefined) return maximum === undefined ? null : `At most ${figure(maximum)}${measured}.`;
  if (maximum === undefined) return `${figure(minimum)}${measured} or more.`;
  return `From ${figure(minimum)} to ${figure(maximum)}${measured}.`;
}

/** Marks a field that may stay empty and has no default. */
export function optionalMark({ isRequired, fallback }: Pick<Field, 'isRequired' | 'fallback'>): Html {
  return isRequired || fallback !== null ? NO_HTML : html` <span class="optional">optional</span>`;
}

/** A number with separators: `120,000`. */
function figure(value: number): string {
  return new Intl.NumberFormat('en').format(value);
}
