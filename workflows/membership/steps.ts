import { proxyActivities } from '@temporalio/workflow';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { PoolKey } from '../../activities/pool/types.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { PoolStep } from '../../decisions/pool/steps.ts';
import { ON_VMS } from '../owners/steps.ts';

const { labelVms, unlabelVms, unholdVms, endMembershipChange } = proxyActivities<PoolActivities>(ON_VMS);

/** A step that adapts to changes of the pool's members by users or commands. */
type MembersStep = Extract<PoolStep, { kind: 'label' | 'unlabel' | 'unhold' | 'end-change' }>;

const KINDS: ReadonlySet<PoolStep['kind']> = new Set(['label', 'unlabel', 'unhold', 'end-change']);

export const isOfMembers = (step: PoolStep): step is MembersStep => KINDS.has(step.kind);

/** Returns what a later plan must have seen, if the step tells that. */
export function carryOut(
  step: MembersStep,
  key: PoolKey,
  words: { summary: string },
): Promise<ResourceVersions | void> {
  switch (step.kind) {
    case 'label':
      return labelVms.executeWithOptions(words, [key, step.vms]);
    case 'unlabel':
      return unlabelVms.executeWithOptions(words, [key, step.vms]);
    case 'unhold':
      return unholdVms.executeWithOptions(words, [key, step.vms]);
    case 'end-change':
      return endMembershipChange.executeWithOptions(words, [key, step.mark]);
  }
}
