import { ManifestErrors } from '../../api/manifest/problem.ts';
import { isRefusal, isTransient, KubeError, KubeUnreachable } from '../../kubernetes/errors.ts';

/** A failed command: one sentence for stderr, and exit code 1. */
export class Failure extends Error {
  override readonly name: string = 'Failure';
}

/** A wrong command line: one sentence for stderr, and exit code 2. */
export class UsageError extends Failure {
  override readonly name = 'UsageError';
}

/** What failed in a command whose exit code 1 means something else: exit code 2. */
export class FailureBesides extends AggregateError {
  constructor(error: unknown) {
    super([error]);
  }
}

/** Throws a single failure as it is, several as an `AggregateError`, and nothing if there are none. */
export function throwAll(failures: readonly unknown[]): void {
  if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
}

/** Returns an error as lines that a user can act on: one, unless it holds several errors. */
export function linesOf(error: unknown): string[] {
  if (error instanceof KubeUnreachable) return [`the Kubernetes API server does not answer: ${error.message}`];
  if (error instanceof KubeError && error.status === 401) {
    return [`${serverOf(error)} rejected these credentials; use others with --kubeconfig or --context`];
  }
  if (isAboutServer(error)) {
    return [`${serverOf(error)} cannot serve the request now (${error.status}): ${oneLine(error.message)}`];
  }
  if (error instanceof Error && error.name === 'NamespaceNotFoundError')
    return [`Temporal has no such namespace (${error.message}); give another with --temporal-namespace`];
  if (error instanceof AggregateError) return error.errors.flatMap(linesOf);
  const text = error instanceof Error ? error.message || error.name : String(error);
  if (error instanceof ManifestErrors) return text.split('\n');
  return [oneLine(text)];
}

/** A server that is starting or overloaded sends messages that name neither an object nor the server itself. */
const isAboutServer = (error: unknown): error is KubeError =>
  error instanceof KubeError && isTransient(error) && !isRefusal(error);

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ').trim();

const serverOf = ({ server }: KubeError): string =>
  `the Kubernetes API server${server === undefined ? '' : ` at ${server}`}`;

export const sentenceOf = (error: unknown): string => linesOf(error).join('; ');
