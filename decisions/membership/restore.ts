import { POOL_LABEL, UID_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { standbyRules } from '../../api/rules/pool-defaults.ts';
import { formatNames } from '../lib/names.ts';
import type { UntimedCondition } from '../owners/conditions.ts';
import { mayTry } from '../owners/failures.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import type { PoolStep } from '../owners/steps.ts';
import type { StoredVmOwner } from '../views/owner.ts';
import { isRegular, isStandby, type VmView } from '../views/vm.ts';

/**
 * How long a restored pool or set waits for members after the last that came. Backup tools put back one kind after the
 * other, and pools and sets before VMs.
 */
export const RESTORE_QUIET_MS = 2 * 60_000;

/**
 * Whether the pool or set has come back from a backup and its members may still be coming: the UID noted on it is that
 * of its earlier self. Until its own is noted, it makes nothing.
 */
export const isRestoring = ({ metadata }: StoredVmOwner): boolean => {
  const { annotations, uid, deletionTimestamp } = metadata;
  const recordedUid = annotations?.[UID_ANNOTATION];
  return deletionTimestamp === undefined && recordedUid !== undefined && recordedUid !== uid;
};

/** How far a restore has come. */
export interface Restore {
  /** Notes the UID of the owner, which ends the wait; none while it waits, or if it does not. */
  steps: Extract<PoolStep, { kind: 'recordUid' }>[];
  /** Until when it waits for more members, in milliseconds since the epoch; null if it does not wait. */
  until: number | null;
}

const NOT_RESTORING: Restore = { steps: [], until: null };

/**
 * Returns how long a restored pool or set waits: until its members are complete, or none has come for a while.
 * `members`: its own, and VMs that may become its own.
 */
export function restoreOf(
  owner: StoredVmOwner,
  {
    members,
    isComplete,
    now,
    ...more
  }: Pick<PlanInput, 'now' | 'backoffs'> & { members: readonly { createdAt: number }[]; isComplete: boolean },
): Restore {
  if (!isRestoring(owner)) return NOT_RESTORING;
  const since = Math.max(createdAt(owner), ...members.map((one) => one.createdAt));
  const until = since + RESTORE_QUIET_MS;
  if (!isComplete && now < until) return { steps: [], until };
  if (!mayTry(more, 'FailedFinalizer')) return NOT_RESTORING;
  const message = isComplete ? 'its members are complete' : 'no more members have come back';
  return {
    steps: [{ kind: 'recordUid', reason: `continue after the restore from a backup: ${message}` }],
    until: null,
  };
}

const createdAt = ({ metadata }: StoredVmOwner): number => Date.parse(metadata.creationTimestamp ?? '') || 0;

export function poolRestore({
  pool,
  vms,
  uncontrolled = [],
  ...given
}: Pick<PlanInput, 'pool' | 'vms' | 'uncontrolled' | 'now' | 'backoffs'>): Restore {
  const { name } = pool.metadata;
  const members = [...vms, ...uncontrolled.filter(({ ownLabels }) => ownLabels[POOL_LABEL] === name)];
  const isComplete =
    vms.filter(isRegular).length >= pool.spec.replicas &&
    vms.filter(isStandby).length >= standbyRules(pool.spec).replicas;
  return restoreOf(pool, { ...given, members, isComplete });
}

/** `Restoring`: members are still awaited after a restore, or more have come back than the pool wants. */
export function poolRestoring(
  { pool, vms }: Pick<PlanInput, 'pool' | 'vms'>,
  { until }: Restore,
  { surplus }: { surplus: readonly VmView[] },
): UntimedCondition[] {
  const { name } = pool.metadata;
  const { replicas } = pool.spec;
  const sentences: string[] = [];
  if (until !== null)
    sentences.push(waitingFor(`dpool ${name}`, { there: vms.filter(isRegular).length, replicas, what: 'VMs', until }));
  if (surplus.length > 0) sentences.push(surplusMessage(name, surplus));
  if (sentences.length === 0) return [];
  const reason = until === null ? 'MoreThanWanted' : 'WaitingForMembers';
  return [{ type: 'Restoring', status: 'True', reason, message: sentences.join('; ') }];
}

/** `what`: the members in words. */
export const waitingFor = (
  owner: string,
  { there, replicas, what, until }: { there: number; replicas: number; what: string; until: number },
): string =>
  `restored from a backup, with ${there} of ${replicas} ${what}: makes none until ${new Date(until).toISOString()}, since more may come back; ` +
  `\`kubectl annotate ${owner} ${UID_ANNOTATION}-\` lets it continue now`;

function surplusMessage(pool: string, surplus: readonly VmView[]): string {
  const names = formatNames(surplus.map(({ name }) => name));
  return `${names} came back from a backup without their owner, and the pool wants no more VMs: raise spec.replicas, or delete them, or remove their label ${POOL_LABEL} (\`kubectl label vm ${surplus[0]!.name} ${POOL_LABEL}-\` leaves that VM out of pool ${pool})`;
}
