import { proxyActivities } from '@temporalio/workflow';
import type { PoolKey } from '../../activities/owners/owner-key.ts';
import type { Acted } from '../../activities/owners/try-each.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { MembersReport } from '../../decisions/membership/change.ts';
import type { PoolStep } from '../../decisions/owners/steps.ts';
import { ON_VMS } from '../owners/steps.ts';

const { labelVms, unlabelVms, setRoles, removeDiskFinalizers, changeMembers } = proxyActivities<PoolActivities>(ON_VMS);

/** A step that changes the pool's members as users ask for, or adapts to what they have changed. */
type MembersStep = Extract<
  PoolStep,
  { kind: 'addLabels' | 'removeLabels' | 'setRoles' | 'removeDiskFinalizers' | 'changeMembers' }
>;

const KINDS: ReadonlySet<PoolStep['kind']> = new Set([
  'addLabels',
  'removeLabels',
  'setRoles',
  'removeDiskFinalizers',
  'changeMembers',
]);

export const isMembersStep = (step: PoolStep): step is MembersStep => KINDS.has(step.kind);

/**
 * `onReport`: told what has become of what a user asks. Returns what a later plan must have seen, or whether
 * anything was done, if the step tells that.
 */
export function carryOut(
  step: MembersStep,
  key: PoolKey,
  words: { summary: string },
  onReport: (report: MembersReport) => void,
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
    case 'changeMembers':
      return changeMembers.executeWithOptions(words, [key]).then(({ report, minVersions }) => {
        if (report !== null) onReport(report);
        return minVersions;
      });
  }
}
