import type { Condition, Stored } from '../../api/objects.ts';
import { wantedReplicas } from '../../api/wanted-replicas.ts';
import { runsByItself } from '../../decisions/disruption-budget/availability.ts';
import { countOf, type OwnerKind } from '../cli/kinds.ts';
import { isPool, type Owner } from '../owners/objects.ts';
import type { Pool } from '../pool/objects.ts';
import { rolloutView } from '../rollout/view.ts';
import { haltOf } from './rollout-outlook.ts';

/** How far a pool or a replica set is on the way to what its spec says. */
export type ReadyState =
  | { state: 'there' }
  /** `remarks`: what keeps it from that, and may pass. */
  | { state: 'going'; phase: string; message: string; remarks: string[] }
  /** It makes no progress until a user intervenes. */
  | { state: 'stuck'; why: string };

/** Conditions that tell, while they are true, why something takes its time. */
const REMARKABLE = new Set([
  'ReplicaFailure',
  'Healing',
  'HealingSuspended',
  'MembershipChanging',
  'EvictionsNotLimited',
  'ConfigurationNotWatched',
]);

export function readyStateOf(kind: OwnerKind, owner: Stored<Owner>): ReadyState {
  const { metadata, status } = owner;
  const stalled = conditionOf(owner, 'Stalled');
  if (metadata.deletionTimestamp !== undefined) return { state: 'stuck', why: 'it is being deleted' };
  if (stalled?.status === 'True') return { state: 'stuck', why: wordsOf(stalled) };
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0))
    return going(owner, 'Pending', 'no worker has observed it yet');
  return isPool(kind, owner) ? readyStateOfPool(owner) : readyStateOfSet(kind, owner);
}

function readyStateOfPool(pool: Stored<Pool>): ReadyState {
  const { status } = pool;
  const wanted = wantedReplicas(pool);
  const view = rolloutView(pool);
  const { phase, end, message, paused } = view;
  if (phase === 'Pending') return going(pool, phase, message);
  const halt = haltOf(pool);
  if (halt !== undefined && phase !== 'Undoing') return { state: 'stuck', why: halt };
  if (paused !== null && phase === 'Paused')
    return { state: 'stuck', why: `it is paused by ${paused.by}${paused.why === null ? '' : `: ${paused.why}`}` };
  if (end === 'Failed') return { state: 'stuck', why: `${phase}: ${message}` };
  if (end === 'OutdatedVms') return { state: 'stuck', why: `its updateStrategy leaves VMs to others: ${message}` };
  const upToDate = conditionOf(pool, 'UpToDate');
  if (end !== 'Complete' || upToDate === undefined) return going(pool, phase, message);
  if (upToDate.status !== 'True') return { state: 'stuck', why: wordsOf(upToDate) };
  const surplus = conditionOf(pool, 'ScaleInBlocked');
  if (surplus !== undefined) return { state: 'stuck', why: wordsOf(surplus) };
  const { replicas = 0, unavailableReplicas = 0 } = status ?? {};
  if (replicas === wanted && unavailableReplicas === 0) return { state: 'there' };
  return going(
    pool,
    'Starting',
    `${unavailableReplicas} of ${wanted} VMs ${unavailableReplicas === 1 ? 'is' : 'are'} not available`,
  );
}

function readyStateOfSet(kind: OwnerKind, set: Stored<Owner>): ReadyState {
  const progressing = conditionOf(set, 'Progressing');
  const available = conditionOf(set, 'Available');
  const { reason = 'Pending', message = '' } = progressing ?? {};
  const wanted = wantedReplicas(set);
  const { replicas = 0 } = set.status ?? {};
  if (reason === 'Paused' && replicas !== wanted) return { state: 'stuck', why: `it is paused: ${message}` };
  const isComplete = replicas === wanted && (reason === 'Complete' || reason === 'Paused');
  if (!isComplete) return going(set, reason, message);
  // VMs that nobody was to start are as the template wants them, although none is available.
  const isToRun = kind.members.noun === 'VMI' || runsByItself(set.spec.template);
  if (available?.status === 'True' || !isToRun) return { state: 'there' };
  return going(set, 'Starting', available?.message ?? `none of ${countOf(kind, replicas)} is available`);
}

const going = (owner: Stored<Owner>, phase: string, message: string): ReadyState => ({
  state: 'going',
  phase,
  message,
  remarks: (owner.status?.conditions ?? [])
    .filter(({ type, status }) => status === 'True' && REMARKABLE.has(type))
    .map(wordsOf),
});

const conditionOf = ({ status }: Stored<Owner>, type: string): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

const wordsOf = ({ reason, message }: Pick<Condition, 'reason' | 'message'>): string =>
  [reason, message].filter(Boolean).join(': ');
