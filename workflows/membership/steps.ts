import { proxyActivities } from '@temporalio/workflow';
import type { Acted } from '../../activities/owners/try-each.ts';
import type { PoolKey } from '../../activities/owners/types.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { PoolStep } from '../../decisions/owners/steps.ts';
import { ON_VMS } from '../owners/steps.ts';

const { labelVms, unlabelVms, setRoles, removeDiskFinalizers, endMembershipChange } =
  proxyActivities<PoolActivities>(ON_VMS);

/** A step that adapts to changes of the pool's members by users or commands. */
type MembersStep = Extract<
  PoolStep,
  { kind: 'addLabels' | 'removeLabels' | 'setRoles' | 'removeDiskFinalizers' | 'endMembershipChange' }
>;

const KINDS: ReadonlySet<PoolStep['kind']> = new Set([
  'addLabels',
  'removeLabels',
  'setRoles',
  'removeDiskFinalizers',
  'endMembershipChange',
]);

export const isOfMembers = (step: PoolStep): step is MembersStep => KINDS.has(step.kind);

/** Returns what a later plan must have seen, or whether anything was done, if the step tells that. */
export function carryOut(
  step: MembersStep,
  key: PoolKey,
  words: { summary: string },
): Promise<ResourceVersions | Acted | void> {
  switch (step.kind) {
    case 'addLabels':
      return labelVms.executeWithOptions(words, [key, step.vms]);
    case 'removeLabels':
      return unlabelVms.executeWithOptions(words, [key, step.vms]);
    case 'setRoles':
      return setRoles.executeWithOptions(words, [key, step.vms]);
    case 'removeDiskFinalizers':
      return removeDiskFinalizers.executeWithOptions(words, [key, step.vms]);
    case 'endMembershipChange':
      return endMembershipChange.executeWithOptions(words, [key, step.mark]);
  }
}
