import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { check } from '../../api/manifest/check.ts';
import { formatPath } from '../../api/manifest/problem.ts';
import { Receivers, type Receiver } from '../../api/notifications/receivers.ts';
import { RepeatedProblem } from '../health/repeated-problem.ts';

/** Thrown for a file that can't be used; the message says what would be right. Nothing secret is in it. */
class ReceiversError extends Error {
  override readonly name = 'ReceiversError';
}

interface Logger {
  warn: (message: string, details: object) => unknown;
}

/**
 * Returns what reads the receivers from the file: again each time, since a Secret that is mounted may change under way.
 * A file that became unusable leaves them as they were. Throws `ReceiversError` if it can't be used now.
 */
export function openReceivers(path: string | null, logger: Logger): () => readonly Receiver[] {
  if (path === null) return () => [];
  let last = readReceivers(path);
  const problem = new RepeatedProblem((error) => logger.warn('the receivers stay as they were', { error }));
  return () => {
    try {
      last = readReceivers(path);
    } catch (error) {
      problem.lasts((error as Error).message);
    }
    return last;
  };
}

function readReceivers(path: string): Receiver[] {
  const setting = `DROVER_WEBHOOKS=${path}`;
  const content = contentOf(path, setting);
  const problems = check(Receivers, content, { written: () => undefined, hint: () => undefined });
  if (problems.length > 0) {
    const messages = problems.map(({ path: at, message }) => `${formatPath(at) || 'it'}: ${withoutValue(message)}`);
    throw new ReceiversError(`${setting}: ${messages.join('; ')}`);
  }
  return Receivers.parse(content).receivers.map((receiver) => {
    const { ca } = receiver;
    // A path, unless it is the certificate itself.
    return ca === undefined || ca.includes('-----BEGIN') ? receiver : { ...receiver, ca: textOf(ca, setting) };
  });
}

/** A value may be secret, even in the wrong field. */
const withoutValue = (message: string): string => message.replace(/, found (?!(a list|an object)$).*/s, '');

function contentOf(path: string, setting: string): unknown {
  const text = textOf(path, setting);
  try {
    return parse(text);
  } catch {
    // The parser quotes lines, which may be secret.
    throw new ReceiversError(`${setting}: is not YAML`);
  }
}

function textOf(path: string, setting: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ReceiversError(`${setting}: ${path} can't be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}
