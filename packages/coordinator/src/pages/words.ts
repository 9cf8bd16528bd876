import { latencyText, percentage } from '../web/figures.ts';
import { durationText } from '../web/times.ts';
import type { PageText } from './text/en.ts';
import { type Counted, fillIn, LANGUAGES, type Language } from './text/texts.ts';

/** The texts and formats of the status pages in one language. All days are UTC days. */
export class Words {
  readonly language: Language;
  readonly text: PageText;
  readonly #plural: Intl.PluralRules;
  readonly #list: Intl.ListFormat;
  readonly #day: Intl.DateTimeFormat;
  readonly #dayOfYear: Intl.DateTimeFormat;

  constructor(language: Language) {
    // In British English, the day comes before the month.
    const locale = language === 'en' ? 'en-GB' : language;
    this.language = language;
    this.text = LANGUAGES[language];
    this.#plural = new Intl.PluralRules(locale);
    this.#list = new Intl.ListFormat(locale);
    this.#day = new Intl.DateTimeFormat(locale, {
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      timeZone: 'UTC',
    });
    this.#dayOfYear = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  }

  /**
   * Formats a percentage.
   *
   * @param value percent, with at most two decimals, rounded down (`verdict/uptime.ts`)
   */
  percent(value: number): string {
    return percentage(value / 100, this.language);
  }

  /**
   * Says how high the uptime is.
   *
   * @param percent null: there is no data
   */
  uptime(percent: number | null): string {
    const { uptime, noUptime } = this.text;
    return percent === null ? noUptime : fillIn(uptime, { percent: this.percent(percent) });
  }

  /** Returns the singular or plural form of `text`, with `count` filled in. */
  counted(text: Counted, count: number): string {
    return fillIn(this.#plural.select(count) === 'one' ? text.one : text.other, { count: String(count) });
  }

  list(names: readonly string[]): string {
    return this.#list.format(names);
  }

  duration(ms: number): string {
    return durationText(ms, this.language);
  }

  /**
   * Formats a UTC day with its year.
   *
   * @param at epoch ms
   */
  day(at: number): string {
    return this.#day.format(at);
  }

  /**
   * Formats a UTC day without its year. Use it only for recent months.
   *
   * @param at epoch ms
   */
  recentDay(at: number): string {
    return this.#dayOfYear.format(at);
  }

  /**
   * Formats a latency.
   *
   * @param ms null: the latency is unknown
   */
  latency(ms: number | null): string {
    return latencyText(ms, this.language);
  }
}

const made = new Map<Language, Words>();

/** Returns the words of a language. They are made only once, because making formats is slow. */
export function wordsOf(language: Language): Words {
  const known = made.get(language);
  if (known !== undefined) return known;
  const words = new Words(language);
  made.set(language, words);
  return words;
}
