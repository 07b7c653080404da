import { isConflict, isNotFound, KubeError } from '../../kubernetes/errors.ts';

/** Undefined where the object is gone, is another, or has changed: the next plan sees it as it is now. */
export const ignoreStale = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    const isOther = error instanceof KubeError && error.status === 422 && /metadata[./]uid/.test(error.message);
    if (isNotFound(error) || isConflict(error) || isOther) return undefined;
    throw error;
  });
