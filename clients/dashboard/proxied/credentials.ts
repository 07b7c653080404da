import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { whyUnreadable } from '../../../api/manifest/unreadable.ts';
import { Failure } from '../../cli/failure.ts';

/** Paths of files, as a Secret has them in a pod. */
export interface CredentialFiles {
  /** Authorities of the proxy's certificate. */
  ca: string;
  cert: string;
  key: string;
}

/** What is in them, as PEM. */
export type Credentials = Readonly<CredentialFiles>;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Reads the files. Throws `Failure` if one can't be used. An empty authority is refused: TLS would use those of the
 * system in its place, and so accept anybody's certificate.
 */
export function readCredentials(files: CredentialFiles): Credentials {
  const [ca, cert, key] = [textOf(files.ca), textOf(files.cert), textOf(files.key)];
  const authorities = ca.match(CERTIFICATE) ?? [];
  if (authorities.length === 0) throw new Failure(`${files.ca} has no certificate in it`);
  for (const one of authorities) tried(files.ca, () => new X509Certificate(one));
  tried(`${files.cert} with ${files.key}`, () => createSecureContext({ ca: authorities, cert, key }));
  return { ca: authorities.join('\n'), cert, key };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Failure(`${file}: ${whyUnreadable(error)}`, { cause: error });
  }
}

function tried(what: string, read: () => unknown): void {
  try {
    read();
  } catch (error) {
    throw new Failure(`${what} can't be used: ${(error as Error).message}`, { cause: error });
  }
}
