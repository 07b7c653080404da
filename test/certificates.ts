import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  type X509Certificate,
} from '@peculiar/x509';

const KEY = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 24 * 3600 * 1000;

interface Certified {
  certificate: X509Certificate;
  keys: webcrypto.CryptoKeyPair;
}

/** Makes a certificate for 127.0.0.1, signed by the authority; without one, that of an authority. */
export async function certify(name: string, authority?: Certified): Promise<Certified> {
  const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.create({
    subject: `CN=${name}`,
    issuer: authority?.certificate.subject ?? `CN=${name}`,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + DAY_MS),
    publicKey: keys.publicKey,
    signingKey: (authority?.keys ?? keys).privateKey,
    signingAlgorithm: KEY,
    extensions: [
      authority === undefined
        ? new BasicConstraintsExtension(true, undefined, true)
        : new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }]),
    ],
  });
  return { certificate, keys };
}

/** The private key, as PEM. */
export const keyOf = async ({ keys }: Certified): Promise<string> =>
  PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');

/** An authority, and what a server on this machine needs that has its certificate from it; all as PEM. */
export async function certificates(): Promise<{ ca: string; server: { cert: string; key: string } }> {
  const authority = await certify('authority');
  const server = await certify('server', authority);
  return {
    ca: authority.certificate.toString('pem'),
    server: { cert: server.certificate.toString('pem'), key: await keyOf(server) },
  };
}
