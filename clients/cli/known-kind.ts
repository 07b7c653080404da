import { GROUP } from '../../api/labels-and-annotations.ts';
import { apiVersionOf, type Resource } from '../../api/resources.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import { Failure } from './failure.ts';

/**
 * Awaits a call about a kind. If the API server does not know the kind, throws a `Failure` that says what to install.
 */
export async function ofKnownKind<T>(resource: Resource, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw aboutKind(resource, error);
  }
}

/** Returns the same error, or a `Failure` with what to do about a kind that the API server does not know. */
export function aboutKind(resource: Resource, error: unknown): unknown {
  const unknown =
    error instanceof KubeError &&
    error.status === 404 &&
    /page not found|could not find the requested resource/.test(error.message);
  if (!unknown) return error;
  const cure =
    resource.group === GROUP
      ? 'drover is not installed in it; run `drover setup` first'
      : 'KubeVirt is not installed in it';
  return new Failure(`the cluster does not know ${resource.kind} of ${apiVersionOf(resource)}: ${cure}`, {
    cause: error,
  });
}
