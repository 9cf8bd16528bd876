/**
 * Certificates for tests, made once with openssl and valid for a hundred years (or on purpose not). The
 * keys are public: they serve tests only.
 */

/** The authority that issued the other certificates. Only tests trust it. */
export const TEST_AUTHORITY = `-----BEGIN CERTIFICATE-----
MIIBbTCCARSgAwIBAgICEAQwCgYIKoZIzj0EAwIwHTEbMBkGA1UEAwwSc3ZjIHRl
c3QgYXV0aG9yaXR5MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAd
MRswGQYDVQQDDBJzdmMgdGVzdCBhdXRob3JpdHkwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATCqasZOGL/joVvSnK0Gpx9LvBH0PTy8rnyuJ9O0LdvuUJICoRe59QW
c5wdtOiAezUcwVNy3ZCRJUBPGLL1slLZo0IwQDAOBgNVHQ8BAf8EBAMCAQYwDwYD
VR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUDvna6B3ymQ6AN4JD4wSm6tb/CSowCgYI
KoZIzj0EAwIDRwAwRAIgARdzZN1X/F4pkxND/LBdvUFcM3JPgi9V9njaHeC+wxkC
IHSf52Ydc/5TBzGkN2+DAK2ocFDQilhhXmGPVu1Skize
-----END CERTIFICATE-----
`;

const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgUbmLZWnBmEDm5AtU
m2binfdPy9f+qrL2S3rkFwJLNRihRANCAAQ2bNxlAhAM/P/WzaZIMBFCR0K4awt/
OQ9up+BpGbQ6MVPsGx/p+9e6FzDasqjZX0ESZ4HmNq5myxbiQjTxDJsc
-----END PRIVATE KEY-----
`;

/** `ciphers`, where OpenSSL would not serve the certificate otherwise; `ecdhCurve`: the groups that the server takes. */
export type TestCertificate = { key: string; cert: string; ciphers?: string; ecdhCurve?: string };

/** For localhost, secure.test, 127.0.0.1 and ::1, until 2120. */
export const TRUSTED: TestCertificate = {
  key: KEY,
  cert: `-----BEGIN CERTIFICATE-----
MIIBxDCCAWmgAwIBAgICEAAwCgYIKoZIzj0EAwIwHTEbMBkGA1UEAwwSc3ZjIHRl
c3QgYXV0aG9yaXR5MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAS
MRAwDgYDVQQDDAd0cnVzdGVkMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAENmzc
ZQIQDPz/1s2mSDARQkdCuGsLfzkPbqfgaRm0OjFT7Bsf6fvXuhcw2rKo2V9BEmeB
5jauZssW4kI08QybHKOBoTCBnjA5BgNVHREEMjAwgglsb2NhbGhvc3SCC3NlY3Vy
ZS50ZXN0hwR/AAABhxAAAAAAAAAAAAAAAAAAAAABMBMGA1UdJQQMMAoGCCsGAQUF
BwMBMAwGA1UdEwEB/wQCMAAwHQYDVR0OBBYEFMXinLhN/S2EkYgr7jMv3PngXN88
MB8GA1UdIwQYMBaAFA752ugd8pkOgDeCQ+MEpurW/wkqMAoGCCqGSM49BAMCA0kA
MEYCIQDbkDVcfkJNFx3h/PaIDmJ+U+13SQy4YvfTs+qQ6SjukgIhAPE6iHmoIube
547WSpMGNdfFzjOX72WIA9LDIFa0XW44
-----END CERTIFICATE-----
`,
};

/** Like {@link TRUSTED}, but it expired at the start of February 2020. */
export const EXPIRED: TestCertificate = {
  key: KEY,
  cert: `-----BEGIN CERTIFICATE-----
MIIBwjCCAWegAwIBAgICEAEwCgYIKoZIzj0EAwIwHTEbMBkGA1UEAwwSc3ZjIHRl
c3QgYXV0aG9yaXR5MB4XDTIwMDEwMTAwMDAwMFoXDTIwMDIwMTAwMDAwMFowEjEQ
MA4GA1UEAwwHZXhwaXJlZDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDZs3GUC
EAz8/9bNpkgwEUJHQrhrC385D26n4GkZtDoxU+wbH+n717oXMNqyqNlfQRJngeY2
rmbLFuJCNPEMmxyjgaEwgZ4wOQYDVR0RBDIwMIIJbG9jYWxob3N0ggtzZWN1cmUu
dGVzdIcEfwAAAYcQAAAAAAAAAAAAAAAAAAAAATATBgNVHSUEDDAKBggrBgEFBQcD
ATAMBgNVHRMBAf8EAjAAMB0GA1UdDgQWBBTF4py4Tf0thJGIK+4zL9z54FzfPDAf
BgNVHSMEGDAWgBQO+droHfKZDoA3gkPjBKbq1v8JKjAKBggqhkjOPQQDAgNJADBG
AiEA3l0JN4OqNfUso/A3aUsot7GmuXExCM40lYuRlnjlbWQCIQD7C+jAQ+Vck3VH
7we2M8h2tty7fZdpqxfayBXU3If33g==
-----END CERTIFICATE-----
`,
};

/** Like {@link EXPIRED}, but its expiry lies in a 99th month, which nobody can read. */
export const UNREADABLE_EXPIRY: TestCertificate = {
  key: KEY,
  cert: withExpiry(EXPIRED.cert, '209901000000Z'),
};

/** For localhost and 127.0.0.1, from 2100 on. */
export const NOT_YET_VALID: TestCertificate = {
  key: KEY,
  cert: `-----BEGIN CERTIFICATE-----
MIIBpjCCAUugAwIBAgICEAMwCgYIKoZIzj0EAwIwHTEbMBkGA1UEAwwSc3ZjIHRl
c3QgYXV0aG9yaXR5MCIYDzIxMDAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBa
MBIxEDAOBgNVBAMMB25vdC15ZXQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQ2
bNxlAhAM/P/WzaZIMBFCR0K4awt/OQ9up+BpGbQ6MVPsGx/p+9e6FzDasqjZX0ES
Z4HmNq5myxbiQjTxDJsco4GBMH8wGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAAB
MBMGA1UdJQQMMAoGCCsGAQUFBwMBMAwGA1UdEwEB/wQCMAAwHQYDVR0OBBYEFMXi
nLhN/S2EkYgr7jMv3PngXN88MB8GA1UdIwQYMBaAFA752ugd8pkOgDeCQ+MEpurW
/wkqMAoGCCqGSM49BAMCA0kAMEYCIQD1MJ0X9WPkR195ZbHCZipMcBnvK29WQ/Sx
xliRPlo2DAIhAIoESnN2leaa9VA1hKoQLY2D9PymA0P4nGtWVGtJptcL
-----END CERTIFICATE-----
`,
};

/** For other.test only. */
export const WRONG_HOST: TestCertificate = {
  key: KEY,
  cert: `-----BEGIN CERTIFICATE-----
MIIBnzCCAUagAwIBAgICEAIwCgYIKoZIzj0EAwIwHTEbMBkGA1UEAwwSc3ZjIHRl
c3QgYXV0aG9yaXR5MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAV
MRMwEQYDVQQDDAp3cm9uZy1ob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
NmzcZQIQDPz/1s2mSDARQkdCuGsLfzkPbqfgaRm0OjFT7Bsf6fvXuhcw2rKo2V9B
EmeB5jauZssW4kI08QybHKN8MHowFQYDVR0RBA4wDIIKb3RoZXIudGVzdDATBgNV
HSUEDDAKBggrBgEFBQcDATAMBgNVHRMBAf8EAjAAMB0GA1UdDgQWBBTF4py4Tf0t
hJGIK+4zL9z54FzfPDAfBgNVHSMEGDAWgBQO+droHfKZDoA3gkPjBKbq1v8JKjAK
BggqhkjOPQQDAgNHADBEAiBgZ/nF+Kc4ihePB7xTkiTtIeD0sYHyUStqAjIxb4Zu
dQIgJTKVxE3Q2clJmlcN04B9PS99gQ7CEsPecvzzzF7p2ag=
-----END CERTIFICATE-----
`,
};

/** Its common name is secure.test, and it has no subject alternative name; its own authority. */
export const WITHOUT_ALTERNATIVE_NAME: TestCertificate = {
  key: KEY,
  cert: `-----BEGIN CERTIFICATE-----
MIIBYTCCAQigAwIBAgIUcMJUq4UcCR+P2Ly6oXpYYFT+eacwCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLc2VjdXJlLnRlc3QwIBcNMjYxMTIyMDUwMzQwWhgPMjExOTEy
MjUwNTAzNDBaMBYxFDASBgNVBAMMC3NlY3VyZS50ZXN0MFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAENmzcZQIQDPz/1s2mSDARQkdCuGsLfzkPbqfgaRm0OjFT7Bsf
6fvXuhcw2rKo2V9BEmeB5jauZssW4kI08QybHKMyMDAwDwYDVR0TAQH/BAUwAwEB
/zAdBgNVHQ4EFgQUxeKcuE39LYSRiCvuMy/c+eBc3zwwCgYIKoZIzj0EAwIDRwAw
RAIgY6BK6nOPl8mMRqFa09SgLP/MEl/vj0hIrsdkr/wE2q8CIDnqJxQlKDZmVv6r
v6lxU6nxJMhfiZOu3FEFFevyRU0p
-----END CERTIFICATE-----
`,
};

/** Its common name is secure.test, its only alternative name is 127.0.0.9; its own authority. */
export const FOR_AN_ADDRESS_ONLY: TestCertificate = {
  key: KEY,
  cert: `-----BEGIN CERTIFICATE-----
MIIBcjCCARmgAwIBAgIURtUrVaQCpspM3yzzzaAMvzfZdsowCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLc2VjdXJlLnRlc3QwIBcNMjYxMTIyMDUwMzQwWhgPMjExOTEy
MjUwNTAzNDBaMBYxFDASBgNVBAMMC3NlY3VyZS50ZXN0MFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAENmzcZQIQDPz/1s2mSDARQkdCuGsLfzkPbqfgaRm0OjFT7Bsf
6fvXuhcw2rKo2V9BEmeB5jauZssW4kI08QybHKNDMEEwDwYDVR0TAQH/BAUwAwEB
/zAPBgNVHREECDAGhwR/AAAJMB0GA1UdDgQWBBTF4py4Tf0thJGIK+4zL9z54Fzf
PDAKBggqhkjOPQQDAgNHADBEAiALY2D0w55eApQKgSGhWTp0ij2jNZPiJ4EVl1b8
ZVkKsQIgRa6o/WgI62J75Gw1t98ogLWKENGPBMHYfzQZlSTjqhc=
-----END CERTIFICATE-----
`,
};

/** For secure.test, with an RSA key of 1,024 bits; its own authority. */
export const SHORT_KEY: TestCertificate = {
  ciphers: 'DEFAULT:@SECLEVEL=0',
  key: `-----BEGIN PRIVATE KEY-----
MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAKzPtoFSx7JmmHyN
Z0Uk0NqSB9qsJb/P1WanvfA/A/VSXsEJjka/xY7GH2l3WjGiiiX+pusLO9JGDWV4
nnbQvYCvzAYk+r3T8nbd6ICyuH1T+ez300HBOeFg3zQZCBbNzq4SDSU0cj6DuSI/
4Likrp64lTQMv9ZSqH98UwRILzqhAgMBAAECgYATPF/FT3CZJCBvJNJM+QcifUTQ
i378Nec8MQnMd0c6hHu1oxmqOGiGNvmCJN3uTnhwOENeQHbdNh0BoYaKFTwyqvuo
MpNtawjuRdC/pUXs+ksOiWWRqKeCwekOqvxiUDaAP4vxLv0pzHimlfQReQif8kCx
rYDezv7626VKE9lBfQJBAN1yqqpWnQwK6EQmmlUktxqKTQEo+L0nhr523w4SQ93Y
r94FsCXp/fQhxHFF1jOy5yB9WpTO2/sIusDY+AJyVdcCQQDHxlkwm+qm58G9RTMu
rG+AxybO5tFgrMgktm2JL65ZmI98EUHt60pvSlYZwBFSRh0w+AXjhAosd7uoEL62
jHRHAkBKGda2DSmcIAI829YE67ZBsUm3O6iQUyupjElzgfUnxRyEZM7ewP/zs2Dy
rnXQ8uqYWpn29Yly5Sbo5TGIUA4dAkAdvfT3XK8hrC1W3V+SWk+7b2risNCJQRAH
DzXdj8C4TBNImFUlc7tAOGP7L3IkupWL/dD6n2TYW/cPPXb3PI/vAkEAsqDXelsK
Bmh6Dw+2c71PysS2pAV8NmxnNqmZNF3Qfp7Hfk0ULzqo9H77Br/icd18sbjDDYO4
gmGBSlHZq1Hy6g==
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIICIjCCAYugAwIBAgIUNHp67JLwOswSl3+qbytPd5uWBvYwDQYJKoZIhvcNAQEL
BQAwFjEUMBIGA1UEAwwLc2VjdXJlLnRlc3QwIBcNMjYxMTIyMDg0MDAwWhgPMjEy
NjEwMjkwODQwMDBaMBYxFDASBgNVBAMMC3NlY3VyZS50ZXN0MIGfMA0GCSqGSIb3
DQEBAQUAA4GNADCBiQKBgQCsz7aBUseyZph8jWdFJNDakgfarCW/z9Vmp73wPwP1
Ul7BCY5Gv8WOxh9pd1oxoool/qbrCzvSRg1leJ520L2Ar8wGJPq90/J23eiAsrh9
U/ns99NBwTnhYN80GQgWzc6uEg0lNHI+g7kiP+C4pK6euJU0DL/WUqh/fFMESC86
oQIDAQABo2swaTAdBgNVHQ4EFgQUwJmRIfw9/gv9lUg80ZJe0uyw9dYwHwYDVR0j
BBgwFoAUwJmRIfw9/gv9lUg80ZJe0uyw9dYwFgYDVR0RBA8wDYILc2VjdXJlLnRl
c3QwDwYDVR0TAQH/BAUwAwEB/zANBgkqhkiG9w0BAQsFAAOBgQA1VCA9i4XzA1Bn
KY0iJ68WPPSUDig7N0/Fb3c4T1PsB34zb3aPHhyN+0fjiIAKtzc9d5OmWEsGZJGN
bgDIF+GjQBupUTDd/hNhy0DB7RvyDNG6N90GGf9xRcNSM/VKlD1X+a9qi9omqpvk
rq/GmGwVgsJ1/YwnDw0qUwvxzHOMuA==
-----END CERTIFICATE-----
`,
};

/** The certificate with another end of its life, of the same length. Its signature does not fit any more. */
function withExpiry(pem: string, utcTime: string): string {
  const bytes = Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64');
  bytes.write(utcTime, bytes.indexOf('200201000000Z'), 'latin1');
  return `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64')}\n-----END CERTIFICATE-----\n`;
}
