import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  type Extension,
  type X509Certificate,
} from '@peculiar/x509';

const KEY = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const OF_THIS_MACHINE = new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }]);
const DAY_MS = 24 * 3600 * 1000;

export interface Certified {
  certificate: X509Certificate;
  keys: webcrypto.CryptoKeyPair;
}

/**
 * Makes a certificate for 127.0.0.1, signed by the authority; without one, that of an authority. `more`: what else it
 * says.
 */
export async function certify(name: string, authority?: Certified, ...more: Extension[]): Promise<Certified> {
  const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.create({
    subject: `CN=${name.replaceAll(/[,+"\\<>;]/g, '\\$&')}`,
    issuer: authority?.certificate.subject ?? `CN=${name}`,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + DAY_MS),
    publicKey: keys.publicKey,
    signingKey: (authority?.keys ?? keys).privateKey,
    signingAlgorithm: KEY,
    extensions: [
      authority === undefined
        ? new BasicConstraintsExtension(true, undefined, true)
        : (more.find((one) => one instanceof SubjectAlternativeNameExtension) ?? OF_THIS_MACHINE),
      ...more.filter((one) => !(one instanceof SubjectAlternativeNameExtension)),
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
