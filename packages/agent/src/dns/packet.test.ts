import { addressFromBytes } from '@svc/shared/address.ts';
import { RECORD_TYPES } from '@svc/shared/messages/check.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeResponse, type ServedRecord } from '../../../../test/support/dns-server.ts';
import { threadCpu } from '../../../../test/support/thread-cpu.ts';
import {
  canonicalName,
  DnsFormatError,
  type DnsRecord,
  decodeMessage,
  encodeName,
  encodeQuery,
} from './packet.ts';

const label = fc
  .array(fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789-_'), { minLength: 1, maxLength: 20 })
  .map((characters) => characters.join(''));
const name = fc.array(label, { minLength: 1, maxLength: 8 }).map((labels) => labels.join('.'));
const type = fc.constantFrom(...RECORD_TYPES);
const id = fc.integer({ min: 0, max: 0xffff });

/** A record in the form that the decoder returns, and the same record in the form that the test sends. */
const record: fc.Arbitrary<{ expected: DnsRecord; served: ServedRecord }> = fc
  .tuple(name, fc.integer({ min: 0, max: 0xffff_ffff }))
  .chain(([owner, ttl]) => {
    const served = (kind: string, data: Uint8Array): ServedRecord => ({
      name: owner,
      type: kind,
      ttl,
      data: Buffer.from(data),
    });
    const address = (kind: 'A' | 'AAAA', size: number) =>
      fc.uint8Array({ minLength: size, maxLength: size }).map((bytes) => ({
        expected: { name: owner, ttl, type: kind, address: addressFromBytes(bytes) },
        served: served(kind, bytes),
      }));
    return fc.oneof(
      address('A', 4),
      address('AAAA', 16),
      name.map((target) => ({
        expected: { name: owner, ttl, type: 'CNAME' as const, target },
        served: served('CNAME', encodeName(target)),
      })),
      fc.tuple(id, name).map(([preference, exchange]) => ({
        expected: { name: owner, ttl, type: 'MX' as const, preference, exchange },
        served: served('MX', Buffer.concat([uint16(preference), encodeName(exchange)])),
      })),
      fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }), { maxLength: 5 }).map((chunks) => ({
        expected: { name: owner, ttl, type: 'TXT' as const, text: chunks.join('') },
        served: served('TXT', Buffer.concat(chunks.map((chunk) => counted(Buffer.from(chunk))))),
      })),
    );
  });

describe('queries', () => {
  test('are read back as they were asked', () => {
    fc.assert(
      fc.property(id, name, type, fc.boolean(), (queryId, queryName, queryType, withEdns) => {
        const query = encodeQuery(queryId, { name: queryName, type: queryType }, withEdns);
        expect(decodeMessage(query)).toEqual({
          id: queryId,
          isResponse: false,
          isTruncated: false,
          isReferral: false,
          rcode: 0,
          question: { name: queryName, type: queryType },
          answers: [],
        });
      }),
    );
  });

  test('are the bytes of RFC 1035 and RFC 6891', () => {
    const query = encodeQuery(0x1234, { name: 'a.bc', type: 'MX' }, true);
    expect(query.toString('hex')).toBe(
      ['123401000001000000000001', '0161026263', '00', '000f0001', '00002904d0000000000000'].join(''),
    );
  });
});

describe('names', () => {
  test.each([
    ['Example.COM', 'example.com'],
    ['example.com.', 'example.com'],
    ['.', '.'],
    ['', '.'],
    ['_dmarc.example.com', '_dmarc.example.com'],
    ['a\\.b.example', 'a\\.b.example'],
    ['a\\\\b.example', 'a\\\\b.example'],
    ['\\065.example', 'a.example'],
    ['\\000\\255.example', '\\000\\255.example'],
    ['a\\\\.', 'a\\\\'],
    ['a\\\\\\.', 'a\\\\\\.'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
  ])('"%s" is "%s"', (text, canonical) => {
    expect(canonicalName(text)).toBe(canonical);
  });

  test.each([
    ['a..b', 'the name has an empty label'],
    ['.a', 'the name has an empty label'],
    ['..', 'the name has an empty label'],
    ['a'.repeat(64), 'the name has a label of more than 63 bytes'],
    [Array.from({ length: 128 }, () => 'a').join('.'), 'the name has more than 255 bytes'],
    ['bücher€', 'the name has a character of more than one byte'],
    ['a\\', 'the name has a character of more than one byte'],
  ])('"%s" is no name', (text, message) => {
    expect(() => encodeName(text)).toThrow(new DnsFormatError(message));
  });

  /** Texts of dots, backslashes, digits and other characters, a few of which have more than one byte. */
  const anyText = fc
    .array(
      fc.oneof(
        fc.constantFrom('.', '\\', '0', '2'),
        fc.nat(0x110).map((code) => String.fromCharCode(code)),
      ),
      {
        maxLength: 80,
      },
    )
    .map((characters) => characters.join(''));

  test('any text is a name whose form is stable, or none', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        let canonical: string;
        try {
          canonical = canonicalName(text);
        } catch (error) {
          expect(error).toBeInstanceOf(DnsFormatError);
          return;
        }
        expect(canonicalName(canonical)).toBe(canonical);
      }),
    );
  });
});

describe('responses', () => {
  test('are read with every record', () => {
    fc.assert(
      fc.property(
        id,
        name,
        type,
        fc.array(record, { maxLength: 8 }),
        (queryId, queryName, queryType, records) => {
          const request = { id: queryId, name: queryName, type: queryType };
          const bytes = encodeResponse(request, { records: records.map(({ served }) => served) });
          expect(decodeMessage(bytes)).toEqual({
            id: queryId,
            isResponse: true,
            isTruncated: false,
            isReferral: false,
            rcode: 0,
            question: { name: queryName, type: queryType },
            answers: records.map(({ expected }) => expected),
          });
        },
      ),
    );
  });

  test('compressed names are followed (RFC 1035 section 4.1.4)', () => {
    // The question is example.com, at offset 12. The answer's name is `mail` and a pointer to the question's
    // name. It is an alias of `a` and a pointer to the answer's name.
    const bytes = message(
      '076578616d706c6503636f6d00 00010001',
      '046d61696cc00c 0005 0001 0000003c 0004 0161c01d',
    );
    expect(decodeMessage(bytes).answers).toEqual([
      { name: 'mail.example.com', ttl: 60, type: 'CNAME', target: 'a.mail.example.com' },
    ]);
  });

  test('records of other types and classes are passed over', () => {
    const bytes = message(
      '0000010001',
      'c00c 0006 0001 00000000 0003 010203',
      'c00c 0001 0003 00000000 0004 7f000001',
      'c00c 0001 0001 00000000 0004 7f000001',
    );
    expect(decodeMessage(bytes).answers).toEqual([{ name: '.', ttl: 0, type: 'A', address: '127.0.0.1' }]);
  });

  test.each([
    ['nothing', ''],
    ['half a header', '123481800001'],
    ['two questions', '1234 8180 0002 0000 0000 0000'],
    [
      'more answers than there are',
      message('0000010001')
        .toString('hex')
        .replace(/^(.{12})0000/, '$10001'),
    ],
    ['65,535 answers', '1234 8180 0000 ffff 0000 0000'],
    ['a pointer to itself', '1234 8180 0001 0000 0000 0000 c00c 0001 0001'],
    ['two pointers to each other', '1234 8180 0001 0000 0000 0000 c00e c00c 0001 0001'],
    ['a pointer ahead', '1234 8180 0001 0000 0000 0000 c010 0001 0001 00'],
    ['a label of unknown kind', '1234 8180 0001 0000 0000 0000 4000 0001 0001'],
    ['a label past the end', '1234 8180 0001 0000 0000 0000 3f61'],
    ['an address of 3 bytes', message('0000010001', 'c00c 0001 0001 00000000 0003 7f0000')],
    ['a record past the end', message('0000010001', 'c00c 0001 0001 00000000 0004 7f0000')],
    ['a text past its record', message('0000100001', 'c00c 0010 0001 00000000 0002 0561')],
    ['a name past its record', message('0000050001', 'c00c 0005 0001 00000000 0001 016100')],
  ])('%s is refused', (_name, bytes) => {
    const data = typeof bytes === 'string' ? hex(bytes) : bytes;
    expect(() => decodeMessage(data)).toThrow(DnsFormatError);
  });

  test('names made long by pointers are refused', () => {
    const long = encodeName(Array.from({ length: 4 }, () => 'a'.repeat(60)).join('.')).toString('hex');
    const bytes = message(`${long} 00010001`, `3c${'62'.repeat(60)}c00c 0001 0001 00000000 0004 7f000001`);
    expect(() => decodeMessage(bytes)).toThrow('a name of more than 255 bytes');
  });

  test('a chain of pointers longer than any name is refused', () => {
    const pointers = (count: number) => {
      // The pointers lie in a record of a skipped type. Each pointer leads to the pointer before it, and the
      // first pointer leads to the root name.
      const chain = Array.from({ length: count }, (_, n) => 0xc000 + (n === 0 ? 12 : 28 + 2 * (n - 1)));
      const held = Buffer.concat(chain.map(uint16)).toString('hex');
      const size = uint16(2 * count).toString('hex');
      const last = uint16(0xc000 + 28 + 2 * (count - 1)).toString('hex');
      return message(
        '0000010001',
        `00 0063 0001 00000000 ${size} ${held}`,
        `${last} 0001 0001 00000000 0004 7f000001`,
      );
    };
    expect(decodeMessage(pointers(100)).answers).toMatchObject([{ name: '.', address: '127.0.0.1' }]);
    expect(() => decodeMessage(pointers(200))).toThrow('too many compression pointers');
  });

  test('a truncated message is known as one, whatever is left of it', () => {
    const bytes = message('0000010001', 'c00c 0001 0001 00000000 0004 7f');
    bytes.writeUInt16BE(0x8380, 2);
    expect(decodeMessage(bytes)).toMatchObject({ isTruncated: true, answers: [] });
  });
});

describe('64 KiB of records', () => {
  const full = (question: string, record: string) => {
    const bytes = message(question);
    const records = Math.floor((65_535 - bytes.length) / (record.replaceAll(' ', '').length / 2));
    bytes.writeUInt16BE(records, 6);
    return Buffer.concat([bytes, hex(record.repeat(records))]);
  };

  test('are all read', () => {
    const bytes = full('0000010001', 'c00c 0001 0001 0000003c 0004 c0000201');
    expect(decodeMessage(bytes).answers).toHaveLength(4_094);
  });

  test('cost no more when each is a pointer to one long name', () => {
    const long = encodeName(Array.from({ length: 4 }, () => '\\001'.repeat(62)).join('.'));
    const bytes = full(`${long.toString('hex')} 00050001`, 'c00c 0005 0001 00000000 0002 c00c');
    const cpuMs = threadCpu();
    expect(decodeMessage(bytes).answers).toHaveLength(4_661);
    // The reading took a second when every record decoded the name again.
    expect(cpuMs()).toBeLessThan(250);
  });
});

describe('garbage raises DnsFormatError and nothing else', () => {
  const decodes = (bytes: Uint8Array) => {
    try {
      decodeMessage(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(DnsFormatError);
    }
  };

  test('random bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 600 }), decodes), { numRuns: 500 });
  });

  test('responses cut off or with some bytes changed', () => {
    const change = fc.tuple(fc.nat(), fc.nat(255));
    fc.assert(
      fc.property(
        fc.array(record, { minLength: 1, maxLength: 4 }),
        fc.array(change, { maxLength: 4 }),
        fc.nat(),
        (records, changes, cut) => {
          const request = { id: 1, name: 'example.com', type: 'A' };
          const bytes = encodeResponse(request, { records: records.map(({ served }) => served) });
          for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
          decodes(bytes);
          decodes(bytes.subarray(0, cut % bytes.length));
        },
      ),
      { numRuns: 500 },
    );
  });
});

function counted(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex');
}

/** A response with this question and these answers, each in hexadecimal. The header has their numbers. */
function message(question: string, ...answers: string[]): Buffer {
  const header = hex('1234 8180 0001 0000 0000 0000');
  header.writeUInt16BE(answers.length, 6);
  return Buffer.concat([header, ...[question, ...answers].map(hex)]);
}
