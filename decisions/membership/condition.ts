import { ADOPT_VMS_ANNOTATION, MEMBERSHIP_CHANGE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { HealingStatus } from '../../api/pool/pool.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { formatNames } from '../lib/names.ts';
import type { UntimedCondition } from '../owners/conditions.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import { namedAdoptions } from '../views/annotations/named-vms.ts';
import { howToContinue, membershipChangeOf, type MembershipChange } from './change.ts';

const REASONS: Record<MembershipChange['kind'], ConditionReason<'MembershipChanging'>> = {
  takeover: 'TakingOver',
  release: 'Releasing',
};

/**
 * Names of the VMs with which the pool is still busy, by what it had begun before. A VM that healing has removed keeps
 * nobody waiting: whoever has the pool by then makes another.
 */
export const busyWith = (
  { inProgress, batches }: Pick<PlanInput, 'inProgress' | 'batches'>,
  cycles: HealingStatus['cycles'],
): string[] => [
  ...inProgress.creating,
  ...inProgress.deleting,
  ...batches.flatMap(({ vms }) => vms.map(({ name }) => name)),
  ...cycles.filter(({ phase }) => phase === 'Removing').map(({ vm }) => vm),
];

/** `MembershipChanging`: the pool begins nothing, because it is being changed who its members are. */
export function membersCondition({ pool, ...input }: PlanInput, cycles: HealingStatus['cycles']): UntimedCondition[] {
  const change = membershipChangeOf(pool);
  const { fault } = namedAdoptions(pool.metadata.annotations);
  if (pool.metadata.deletionTimestamp !== undefined) return [];
  if (change === 'unreadable') return unreadable(MEMBERSHIP_CHANGE_ANNOTATION, 'remove the annotation');
  if (change === null && fault !== null) return unreadable(ADOPT_VMS_ANNOTATION, fault);
  if (change === null) return [];
  const busy = busyWith(input, cycles);
  const again = `; if it was refused, ${howToContinue(pool.metadata.name, change.kind)}`;
  const message = `${asText(change)}, begun by ${change.by} at ${change.at}: the pool begins nothing until that has ended${again}`;
  return busy.length === 0
    ? changing(REASONS[change.kind], message)
    : changing('Finishing', `${message}; it is still busy with ${formatNames([...new Set(busy)])}`);
}

const unreadable = (annotation: string, message: string): UntimedCondition[] =>
  changing(
    'InvalidAnnotation',
    `the pool begins nothing, because its annotation ${annotation} can't be read: ${message}`,
  );

const changing = (reason: ConditionReason<'MembershipChanging'>, message: string): UntimedCondition[] => [
  { type: 'MembershipChanging', status: 'True', reason, message },
];

function asText(change: MembershipChange): string {
  switch (change.kind) {
    case 'takeover':
      return 'VMs of a KubeVirt pool move to it (`drover takeover`)';
    case 'release':
      return 'its VMs move to a KubeVirt pool (`drover release`)';
  }
}
