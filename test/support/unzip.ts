import { inflateRawSync } from 'node:zlib';

export type Unzipped = {
  readonly name: string;
  readonly content: Buffer;
  /** Type and permissions in the form of Unix, octal. */
  readonly mode: string;
  /** Date and time in the form of MS-DOS, without a time zone. */
  readonly time: number;
};

/** The files in a zip, by the directory at its end (APPNOTE.TXT 4.3.12 and 4.3.16). */
export function unzip(file: Buffer): Unzipped[] {
  const end = file.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  let at = file.readUInt32LE(end + 16);
  return Array.from({ length: file.readUInt16LE(end + 10) }, () => {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) =>
      file.readUInt16LE(at + offset),
    ) as [number, number, number];
    const unzipped = {
      name: file.toString('utf8', at + 46, at + 46 + nameLength),
      content: contentAt(file, file.readUInt32LE(at + 42), file.readUInt32LE(at + 20)),
      mode: (file.readUInt32LE(at + 38) >>> 16).toString(8),
      time: file.readUInt32LE(at + 12),
    };
    at += 46 + nameLength + extraLength + commentLength;
    return unzipped;
  });
}

/**
 * Returns the content of a file in the zip.
 *
 * @param header position of the file's own header
 */
function contentAt(file: Buffer, header: number, compressedSize: number): Buffer {
  const start = header + 30 + file.readUInt16LE(header + 26) + file.readUInt16LE(header + 28);
  return inflateRawSync(file.subarray(start, start + compressedSize));
}
