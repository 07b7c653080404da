import { ApplicationFailure } from '@temporalio/activity';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { isRestoredSince, RESTORED, type SeenByRun } from '../../decisions/operations/restored.ts';
import type { Authority } from './authority.ts';

/**
 * Throws a `RESTORED` if the API server has less than the run has seen. `minVersions`: what this worker's caches have
 * reached. Returns the version of the operation, for the next call to compare with.
 */
export function refuseRestored(
  seen: SeenByRun,
  { operation }: Authority,
  minVersions: ResourceVersions,
): SeenByRun['operationVersion'] {
  const operationVersion = operation?.metadata.resourceVersion;
  if (isRestoredSince(seen, { minVersions, operationVersion }))
    throw ApplicationFailure.nonRetryable(
      'the API server was restored from a backup: the operation begins anew, by what the VMs tell',
      RESTORED,
    );
  return operationVersion ?? seen.operationVersion;
}
