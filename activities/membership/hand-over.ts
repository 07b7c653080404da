import { KubeVirtPools } from '../../api/resources.ts';
import type { MembersReport } from '../../decisions/membership/change.ts';
import type { MembershipRequest } from '../../decisions/membership/membership-request.ts';
import type { FoundRequest } from '../../decisions/owners/request.ts';
import { isAlreadyExists, isConflict, isNotFound, isRefusal, KubeError } from '../../kubernetes/errors.ts';
import type { MembersRun } from './members-run.ts';
import { release } from './release.ts';
import { takeOver } from './takeover.ts';

const RACES: readonly ((error: unknown) => boolean)[] = [isConflict, isAlreadyExists, isNotFound];

/**
 * Moves all VMs of a KubeVirt pool to drover's pool of its name, or back. Each write is on the version that was read or
 * on a UID, and each attempt looks at the present state, so the next continues an attempt that was cut short anywhere.
 * What can't be done now is refused, and the pool stays held if anything was begun.
 */
export async function handOver(
  run: MembersRun,
  { body, ...request }: FoundRequest & { body: MembershipRequest },
): Promise<MembersReport | null> {
  try {
    return await (body.action === 'takeover' ? takeOver(run, body, request) : release(run, request));
  } catch (error) {
    // What another client has written meanwhile, the next attempt sees.
    if (!isRefusal(error) || RACES.some((isRace) => isRace(error))) throw error;
    const isOfRights =
      error instanceof KubeError && error.status === 403 && error.message.includes(KubeVirtPools.group);
    const hint = isOfRights ? '; the component deploy/components/takeover has the rights that workers need' : '';
    return { digest: request.digest, moved: [], refused: `${error.message}${hint}` };
  }
}
