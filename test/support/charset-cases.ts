/** A page in some charset, with the text that a browser shows. */
export type CharsetCase = {
  readonly name: string;
  /** `Content-Type`; undefined: the answer has none. */
  readonly type: string | undefined;
  readonly bytes: Buffer;
  readonly text: string;
  /** The text in a failure's message if the declared charset is not known. */
  readonly unknown?: string;
};

const of = (...bytes: number[]): Buffer => Buffer.from(bytes);
const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
const swapped = (bytes: Buffer): Buffer => Buffer.from(bytes).swap16();
const after = (head: string, bytes: Buffer): Buffer => Buffer.concat([Buffer.from(head, 'latin1'), bytes]);

const RUSSIAN = 'Заказ принят';
const CP1251 = of(0xc7, 0xe0, 0xea, 0xe0, 0xe7, 0x20, 0xef, 0xf0, 0xe8, 0xed, 0xff, 0xf2);
const KOI8_R = of(0xfa, 0xc1, 0xcb, 0xc1, 0xda, 0x20, 0xd0, 0xd2, 0xc9, 0xce, 0xd1, 0xd4);
const LATIN1 = Buffer.from('Zürich \x80 5', 'latin1');
/** The Encoding Standard reads ISO-8859-1 as windows-1252. */
const WINDOWS_1252 = 'Zürich € 5';
const UTF8 = Buffer.from(RUSSIAN);

type Row = readonly [
  name: string,
  type: string | undefined,
  head: string,
  bytes: Buffer,
  text: string,
  unknown?: string,
];

const HTML = 'text/html';

const ROWS: readonly Row[] = [
  ['windows-1251 by header', 'text/html; charset=windows-1251', '', CP1251, RUSSIAN],
  ['by another label', 'text/html; charset=CP1251', '', CP1251, RUSSIAN],
  ['in quotes', 'text/html;charset="windows-1251"', '', CP1251, RUSSIAN],
  ['of a plain text', 'text/plain; charset=koi8-r', '', KOI8_R, RUSSIAN],
  ['of a script', 'application/json; charset=windows-1251', '', CP1251, RUSSIAN],
  ['behind another parameter', 'text/html; version=1; charset=windows-1251', '', CP1251, RUSSIAN],
  ['of the last of two types', 'text/plain, text/html; charset=windows-1251', '', CP1251, RUSSIAN],
  ['ISO-8859-1 by header', 'text/html; charset=iso-8859-1', '', LATIN1, WINDOWS_1252],
  ['ISO-8859-1 by meta', HTML, '<meta charset="ISO-8859-1">', LATIN1, WINDOWS_1252],
  ['by meta without quotes', HTML, '<!doctype html><META CHARSET=windows-1251>', CP1251, RUSSIAN],
  [
    'by http-equiv',
    HTML,
    "<meta http-equiv='Content-Type' content='text/html; charset=windows-1251'>",
    CP1251,
    RUSSIAN,
  ],
  [
    'by http-equiv in the other order',
    HTML,
    '<meta content="text/html;charset=windows-1251" http-equiv=content-type>',
    CP1251,
    RUSSIAN,
  ],
  ['by meta without a type', undefined, '<html><meta charset=windows-1251>', CP1251, RUSSIAN],
  ['the header before the meta', 'text/html; charset=utf-8', '<meta charset=windows-1251>', UTF8, RUSSIAN],
  ['a byte order mark before the header', 'text/html; charset=windows-1251', '\xef\xbb\xbf', UTF8, RUSSIAN],
  ['UTF-16 by meta is UTF-8', HTML, '<meta charset=utf-16>', UTF8, RUSSIAN],
  ['a meta in a comment', HTML, '<!-- <meta charset=windows-1251> --><meta charset=utf-8>', UTF8, RUSSIAN],
  [
    'a meta within an attribute',
    HTML,
    '<p title="<meta charset=koi8-r>"><meta charset=utf-8>',
    UTF8,
    RUSSIAN,
  ],
  ['GBK', 'text/html; charset=gbk', '', of(0xb6, 0xa9, 0xb5, 0xa5, 0x80), '订单€'],
  ['GB2312', 'text/html; charset=gb2312', '', of(0xb6, 0xa9, 0xb5, 0xa5), '订单'],
  ['Big5', 'text/html; charset=big5', '', of(0xad, 0x71, 0xb3, 0xe6), '訂單'],
  ['EUC-KR', 'text/html; charset=euc-kr', '', of(0xc1, 0xd6, 0xb9, 0xae), '주문'],
  ['Shift_JIS', 'text/html; charset=Shift_JIS', '', of(0x92, 0x8d, 0x95, 0xb6, 0xb1), '注文ｱ'],
  ['Shift_JIS by meta', HTML, '<meta charset=x-sjis>', of(0x92, 0x8d, 0x95, 0xb6), '注文'],
  [
    'letters of EUC-KR that KS X 1001 lacks',
    'text/html; charset=ks_c_5601-1987',
    '',
    of(0x8c, 0x63, 0x20, 0x94, 0xee),
    '똠 뷁',
  ],
  [
    'letters of Big5 from Hong Kong',
    'text/html; charset=big5',
    '',
    of(0xfa, 0x66, 0x9d, 0xde),
    '\u507d\u9c45',
  ],
  ['EUC-JP', 'text/html; charset=euc-jp', '', of(0xc3, 0xed, 0xca, 0xb8), '注文'],
  ['UTF-16 with its mark', HTML, '', Buffer.concat([of(0xff, 0xfe), utf16(RUSSIAN)]), RUSSIAN],
  ['UTF-16BE with its mark', HTML, '', Buffer.concat([of(0xfe, 0xff), swapped(utf16(RUSSIAN))]), RUSSIAN],
  ['UTF-16 without a mark', 'text/html; charset=utf-16', '', utf16(RUSSIAN), RUSSIAN],
  ['UTF-16BE without a mark', 'text/html; charset=utf-16be', '', swapped(utf16(RUSSIAN)), RUSSIAN],
  [
    'XML by its declaration',
    'application/xml',
    '<?xml version="1.0" encoding="windows-1251"?><a>',
    after('', Buffer.concat([CP1251, Buffer.from('</a>')])),
    `${RUSSIAN}</a>`,
  ],
  ['UTF-8 without any word', HTML, '<meta charset=utf-8>', UTF8, RUSSIAN],
  ['an unknown label', 'text/plain; charset=x-none', '', UTF8, RUSSIAN, 'x-none'],
  [
    'an unknown label, and a known meta',
    'text/html; charset=x-none',
    '<meta charset=cp1251>',
    CP1251,
    RUSSIAN,
  ],
];

export const CHARSET_CASES: readonly CharsetCase[] = ROWS.map(([name, type, head, bytes, text, unknown]) => ({
  name,
  type,
  bytes: after(head, bytes),
  text,
  ...(unknown === undefined ? {} : { unknown }),
}));
