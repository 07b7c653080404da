import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The credentials of kube-apiserver and its clients. All fields but the token are paths. */
export interface Credentials {
  token: string;
  tokenFile: string;
  serviceAccountKey: string;
  serviceAccountPublicKey: string;
  /**
   * Folder where kube-apiserver writes missing certificates: `apiserver.crt` (its own and the CA's) and
   * `apiserver.key`.
   */
  certificates: string;
  servingCertificate: string;
  servingKey: string;
}

const RENEW_BEFORE_MS = 30 * 24 * 3600 * 1000;

/**
 * Returns the last run's credentials, so that its kubeconfig stays valid. Creates missing ones; kube-apiserver renews
 * its certificate if it expires within 30 days.
 */
export function prepareCredentials(folder: string): Credentials {
  const certificates = join(folder, 'certificates');
  const files = {
    tokenFile: join(folder, 'tokens.csv'),
    serviceAccountKey: join(folder, 'service-account.key'),
    serviceAccountPublicKey: join(folder, 'service-account.pub'),
    certificates,
    servingCertificate: join(certificates, 'apiserver.crt'),
    servingKey: join(certificates, 'apiserver.key'),
  };
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!existsSync(files.serviceAccountKey) || !existsSync(files.serviceAccountPublicKey)) {
    const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(files.serviceAccountKey, pair.privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
    writeFileSync(files.serviceAccountPublicKey, pair.publicKey.export({ type: 'spki', format: 'pem' }));
  }
  if (!isFresh(files.servingCertificate)) rmSync(certificates, { recursive: true, force: true });
  const token = readToken(files.tokenFile) ?? randomBytes(24).toString('hex');
  writeFileSync(files.tokenFile, `${token},admin,admin,"system:masters"\n`, { mode: 0o600 });
  return { token, ...files };
}

/** The serving certificate is its own CA, because of its name and key usage. */
export function writeKubeconfig(file: string, server: string, credentials: Credentials): void {
  const authority = readFileSync(credentials.servingCertificate).toString('base64');
  const config = `apiVersion: v1
kind: Config
current-context: drover-dev
clusters:
- name: drover-dev
  cluster:
    server: ${server}
    certificate-authority-data: ${authority}
contexts:
- name: drover-dev
  context: {cluster: drover-dev, user: admin, namespace: default}
users:
- name: admin
  user: {token: ${credentials.token}}
`;
  writeFileSync(file, config, { mode: 0o600 });
}

function isFresh(certificate: string): boolean {
  if (!existsSync(certificate)) return false;
  return Date.parse(new X509Certificate(readFileSync(certificate)).validTo) - Date.now() > RENEW_BEFORE_MS;
}

const readToken = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, 'utf8').split(',')[0] || undefined : undefined;
