import type { Condition } from '../../api/pool/pool.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { formatNames } from '../lib/names.ts';
import { withTime } from '../owners/conditions.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import type { StoredPool } from '../views/pool.ts';
import { isListed, membershipChangeOf, type ChangeKind, type MembershipChange } from './change.ts';

const REASONS: Record<ChangeKind, ConditionReason<'MembershipChanging'>> = {
  takeover: 'TakingOver',
  release: 'Releasing',
  adopt: 'Adopting',
  detach: 'Detaching',
};

/** The reason that a pool gives when it has finished what it had begun before this change. */
export const reasonOf = (kind: ChangeKind): ConditionReason<'MembershipChanging'> => REASONS[kind];

/** `MembershipChanging`: the pool begins nothing, because it is being changed who its members are. */
export function membersChanging(
  { pool, inProgress, batches }: PlanInput,
  cycles: readonly { vm: string }[],
  now: string,
): Condition[] {
  const change = membershipChangeOf(pool);
  if (change === null || pool.metadata.deletionTimestamp !== undefined) return [];
  if (change === 'unreadable')
    return [
      withTime(
        pool,
        {
          type: 'MembershipChanging',
          status: 'True',
          reason: 'InvalidAnnotation',
          message: "the pool begins nothing, for its annotation drover.dev/membership-change can't be read: remove it",
        },
        now,
      ),
    ];
  const busy = [
    ...inProgress.creating,
    ...inProgress.deleting,
    ...batches.flatMap(({ vms }) => vms.map(({ name }) => name)),
    ...cycles.map(({ vm }) => vm),
  ];
  const message = `${inWords(change)}, begun by ${change.by} at ${change.at}: the pool begins nothing until that has ended${ifKilled(pool, change)}`;
  return [
    withTime(
      pool,
      busy.length === 0
        ? { type: 'MembershipChanging', status: 'True', reason: reasonOf(change.kind), message }
        : {
            type: 'MembershipChanging',
            status: 'True',
            reason: 'Finishing',
            message: `${message}; it is still busy with ${formatNames([...new Set(busy)])}`,
          },
      now,
    ),
  ];
}

/** Says how a change ends that a worker does not go on with by itself. */
function ifKilled({ metadata: { name } }: StoredPool, change: MembershipChange): string {
  if (isListed(change)) return '';
  return change.kind === 'takeover'
    ? `; if the command was killed, run \`drover takeover vmpool ${name}\` again, or \`drover release pool ${name}\` to go back`
    : `; if the command was killed, run \`drover release pool ${name}\` again`;
}

function inWords(change: MembershipChange): string {
  switch (change.kind) {
    case 'takeover':
      return 'VMs of a pool of KubeVirt become its own (`drover takeover`)';
    case 'release':
      return 'its VMs go to a pool of KubeVirt (`drover release`)';
    case 'adopt':
      return `${formatNames(change.vms.map(({ name }) => name))} become its own (\`drover adopt\`)`;
    case 'detach':
      return `${formatNames(change.vms.map(({ name }) => name))} leave it (\`drover detach\`)`;
  }
}
