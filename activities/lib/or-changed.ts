import { isConflict, isNotFound, KubeError } from '../../kubernetes/errors.ts';

/** Resolves to undefined if the object is deleted, replaced or changed: the next plan sees its current state. */
export const ignoreStale = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    const isOther = error instanceof KubeError && error.status === 422 && /metadata[./]uid/.test(error.message);
    if (isNotFound(error) || isConflict(error) || isOther) return undefined;
    throw error;
  });
