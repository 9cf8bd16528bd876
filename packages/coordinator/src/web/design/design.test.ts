import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { BASE_STYLE } from '../web-assets.ts';
import { STATES, stateLabel } from './states.ts';

const THEMES = ['light', 'dark'] as const;
const SURFACES = ['page', 'surface', 'raised'] as const;

/** The colour of a token in a theme, as `#rrggbb`. */
function colour(token: string, theme: (typeof THEMES)[number]): string {
  const found = new RegExp(`--${token}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(BASE_STYLE.text);
  const value = found?.[theme === 'light' ? 1 : 2];
  if (value === undefined) throw new Error(`no colour --${token}`);
  return value;
}

/** The contrast of two colours by their relative luminance (WCAG 2.2). */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

describe.each(THEMES)('in the %s theme', (theme) => {
  const texts = [
    'text',
    'soft',
    'accent',
    'operational',
    'degraded',
    'partial',
    'down',
    'maintenance',
    'unknown',
  ];
  test.each(texts)('%s can be read on every surface', (text) => {
    for (const surface of SURFACES) {
      expect(contrast(colour(text, theme), colour(surface, theme)), surface).toBeGreaterThanOrEqual(4.5);
    }
  });

  test.each(['accent', 'operational', 'degraded', 'partial', 'down', 'maintenance', 'unknown'])(
    '%s and the text can be read on its wash',
    (token) => {
      const wash = colour(`${token}-wash`, theme);
      expect(contrast(colour(token, theme), wash)).toBeGreaterThanOrEqual(4.5);
      expect(contrast(colour('text', theme), wash)).toBeGreaterThanOrEqual(4.5);
    },
  );

  test('the main button can be read, and the edges of fields can be seen', () => {
    expect(contrast(colour('on-accent', theme), colour('accent', theme))).toBeGreaterThanOrEqual(4.5);
    for (const surface of SURFACES) {
      expect(contrast(colour('edge', theme), colour(surface, theme)), surface).toBeGreaterThanOrEqual(3);
    }
  });
});

test('every state has a shape of its own, a word, and a colour', () => {
  const labels = STATES.map((state) => String(stateLabel(state, 'Word')));
  expect(new Set(labels.map((label) => / d="([^"]+)"/.exec(label)?.[1])).size).toBe(STATES.length);
  for (const [index, state] of STATES.entries()) {
    expect(labels[index]).toContain('Word');
    expect(BASE_STYLE.text).toContain(`.state-${state} {`);
  }
});

test('themes differ in colours alone: no style and no script asks for the theme, and no script for the width', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const texts = globSync('**/*.{css,js}', { cwd: root }).map((file) =>
    readFileSync(`${root}${file}`, 'utf8'),
  );
  expect(texts.length).toBeGreaterThan(8);
  for (const text of texts) {
    const rest = text.replaceAll(/:root\[data-theme="(light|dark)"\] \{\n {2}color-scheme: \1;\n\}/g, '');
    expect(rest).not.toMatch(/prefers-color-scheme|data-theme|dataset\.theme|matchMedia|innerWidth/);
  }
});
