import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_kp_clientAuth,
  id_kp_serverAuth,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

/**
 * Time between the beginning of the certificate's validity and its creation,
 * ms. Clocks of containers and virtual machines may differ by a little.
 */
const BACKDATED_MS = 30_000;

/**
 * Validity of the certificate, ms. It is longer than any run
 * of Terraform. The private key never leaves this process.
 */
const VALID_MS = 366 * 24 * 3_600_000;

const COMMON_NAME = '2.5.4.3';
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';

export type ServerCertificate = {
  /** The private key in PEM. */
  readonly key: string;
  /** The certificate in PEM. */
  readonly certificate: string;
  readonly der: Buffer;
};

/**
 * Creates a self-signed certificate (P-256) for this process alone. Terraform reads the certificate from the
 * handshake, accepts no other certificate, and checks that it is for "localhost".
 */
export function createServerCertificate(now = Date.now()): ServerCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const algorithm = new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 });
  const name = localhost();
  const body = new TBSCertificate({
    version: Version.v3,
    serialNumber: serialNumber(),
    signature: algorithm,
    issuer: name,
    subject: name,
    validity: new Validity({
      notBefore: new Date(now - BACKDATED_MS),
      notAfter: new Date(now + VALID_MS),
    }),
    subjectPublicKeyInfo: AsnConvert.parse(spki, SubjectPublicKeyInfo),
    extensions: extensions(),
  });
  const signed = new Certificate({
    tbsCertificate: body,
    signatureAlgorithm: algorithm,
    signatureValue: exactly(sign('sha256', Buffer.from(AsnConvert.serialize(body)), privateKey)),
  });
  const der = Buffer.from(AsnConvert.serialize(signed));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`,
    der,
  };
}

function localhost(): Name {
  const value = new AttributeValue({ utf8String: 'localhost' });
  return new Name([new RelativeDistinguishedName([new AttributeTypeAndValue({ type: COMMON_NAME, value })])]);
}

function extensions(): Extensions {
  const extension = (extnID: string, critical: boolean, value: unknown) =>
    new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
  return new Extensions([
    extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.digitalSignature)),
    extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_serverAuth, id_kp_clientAuth])),
    extension(
      id_ce_subjectAltName,
      false,
      new SubjectAlternativeName([new GeneralName({ dNSName: 'localhost' })]),
    ),
  ]);
}

/**
 * A random serial number. Its first byte is 0x40 to 0x7f, so
 * that the DER integer is positive and begins with no zero byte.
 */
function serialNumber(): ArrayBuffer {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return exactly(bytes);
}

/** Copies the bytes, because a Buffer may be a part of a larger pool. */
function exactly(buffer: Buffer): ArrayBuffer {
  return new Uint8Array(buffer).buffer;
}
