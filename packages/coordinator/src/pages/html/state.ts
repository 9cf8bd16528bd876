import type { State } from '../../web/design/states.ts';
import { type Html, html } from '../../web/html.ts';
import { barClass } from '../bars.ts';

/**
 * The word of a state, with its shape and colour. The shape comes from the styles and not from the text, and the class is
 * one letter, because a page has hundreds of them.
 */
export function stateWord(state: State, word: string): Html {
  return html`<b class=${barClass(state)}>${word}</b>`;
}
