import { generateKeyPairSync, sign } from 'node:crypto';

export type Identity = { readonly certificate: string; readonly key: string };

/**
 * Makes a certificate and key as Terraform makes them for each
 * plug-in: with P-521, as an authority of its own, for localhost.
 */
export function clientIdentity(): Identity {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-521' });
  // Common name and organization.
  const name = sequence(
    set(sequence(oid('55 04 03'), der(0x0c, Buffer.from('localhost')))),
    set(sequence(oid('55 04 0a'), der(0x0c, Buffer.from('HashiCorp')))),
  );
  const algorithm = sequence(oid('2a 86 48 ce 3d 04 03 04')); // ecdsa-with-SHA512
  const now = Date.now();
  const signed = sequence(
    der(0xa0, der(0x02, Buffer.of(2))), // Version 3.
    der(0x02, Buffer.of(1)),
    algorithm,
    name,
    sequence(time(now - 30_000), time(now + 24 * 3_600_000)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions())),
  );
  const signature = sign('sha512', signed, privateKey);
  const certificate = sequence(signed, algorithm, der(0x03, Buffer.concat([Buffer.of(0), signature])));
  return {
    certificate: pemCertificate(certificate.toString('base64')),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

export function pemCertificate(base64: string): string {
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
}

function extensions(): Buffer[] {
  const isAuthority = sequence(der(0x01, Buffer.of(0xff)));
  const names = sequence(der(0x82, Buffer.from('localhost')));
  // Digital signature, key encipherment, key agreement, certificate signing.
  const uses = der(0x03, Buffer.of(2, 0b10101100));
  const purposes = sequence(oid('2b 06 01 05 05 07 03 02'), oid('2b 06 01 05 05 07 03 01'));
  return [
    sequence(oid('55 1d 0f'), der(0x01, Buffer.of(0xff)), der(0x04, uses)),
    sequence(oid('55 1d 25'), der(0x04, purposes)),
    sequence(oid('55 1d 13'), der(0x01, Buffer.of(0xff)), der(0x04, isAuthority)),
    sequence(oid('55 1d 11'), der(0x04, names)),
  ];
}

function time(at: number): Buffer {
  const text = new Date(at).toISOString().replace(/[-:T]|\.\d+/g, '');
  return der(0x17, Buffer.from(text.slice(2))); // UTCTime: two digits of the year.
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex.replaceAll(' ', ''), 'hex'));
}

function set(...members: Buffer[]): Buffer {
  return der(0x31, Buffer.concat(members));
}

function sequence(...members: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(members));
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content]);
  const size = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}
