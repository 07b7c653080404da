import { GROUP } from '../../api/labels-and-annotations.ts';
import { ManifestErrors } from '../../api/manifest/problem.ts';
import * as resources from '../../api/resources.ts';
import { isNotFound, isRefusal, isTransient, KubeError, KubeUnreachable } from '../../kubernetes/errors.ts';

/** A failed command: one sentence for stderr, and exit code 1. */
export class Failure extends Error {
  override readonly name: string = 'Failure';
}

/** The object does not exist: the dashboard takes it off the page. */
export class NotThere extends Failure {}

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
  const unknown = unknownKindOf(error);
  if (unknown !== undefined) {
    const cure =
      unknown.group === GROUP
        ? 'drover is not installed in it; run `drover setup` first'
        : 'KubeVirt is not installed in it';
    return [`the cluster does not know ${unknown.kind} of ${resources.apiVersionOf(unknown)}: ${cure}`];
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

/** Returns the kind of drover's or KubeVirt's that the API server does not know; undefined for any other error. */
export function unknownKindOf(error: unknown): resources.Resource | undefined {
  const isOfKind =
    isNotFound(error) && /page not found|could not find the requested resource/.test(error.message) && error.url;
  if (!isOfKind) return undefined;
  const [, group, plural] = /\/apis\/([^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?(\w+)/.exec(isOfKind) ?? [];
  if (group !== GROUP && group !== resources.VirtualMachines.group) return undefined;
  return Object.values(resources).find(
    (one) => typeof one === 'object' && one.group === group && one.plural === plural,
  ) as resources.Resource | undefined;
}

/** Resolves to undefined if there is no such object. Throws if the cluster does not know its kind either. */
export const ifThere = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (isNotFound(error) && unknownKindOf(error) === undefined) return undefined;
    throw error;
  });

/** A server that is starting or overloaded sends messages that name neither an object nor the server itself. */
const isAboutServer = (error: unknown): error is KubeError =>
  error instanceof KubeError && isTransient(error) && !isRefusal(error);

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ').trim();

const serverOf = ({ url }: KubeError): string =>
  `the Kubernetes API server${url === undefined ? '' : ` at ${new URL(url).origin}`}`;

export const sentenceOf = (error: unknown): string => linesOf(error).join('; ');
