import type { Condition, Stored } from '../../api/objects.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import { runsByItself } from '../../decisions/health/availability.ts';
import { urgencyOf } from '../../decisions/notices/urgency.ts';
import { poolReadiness, setReadiness, type Readiness } from '../../decisions/owners/readiness.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { OwnerKind } from '../cli/kinds.ts';
import { isPool, type Owner } from '../cli/owner.ts';
import { rolloutView } from '../pool/view.ts';
import { haltOf } from './format-change.ts';

/** How far a pool or a replica set is on the way to what its spec says. */
export type ReadyState =
  /** `but`: what only the next start or migration of VMs gives their pods. */
  | { state: 'there'; but?: string }
  /** `remarks`: what keeps it from that, and may pass. */
  | { state: 'going'; phase: string; message: string; notes: string[] }
  /** It makes no progress until a user intervenes. */
  | { state: 'stuck'; message: string };

/** What the state itself says, or what comes of what the command waits for. */
const SAID = new Set(['Stalled', 'Degraded', 'Progressing', 'Paused']);

export function readyStateOf(kind: OwnerKind, owner: Stored<Owner>): ReadyState {
  const { metadata, status } = owner;
  if (metadata.deletionTimestamp !== undefined) return { state: 'stuck', message: 'it is being deleted' };
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0))
    return going(owner, 'Pending', 'waiting for a worker to pick it up');
  return isPool(kind, owner) ? readyStateOfPool(owner) : readyStateOfSet(kind, owner);
}

function readyStateOfPool(pool: Stored<Pool>): ReadyState {
  const readiness = poolReadiness(wantedBy(pool), pool.status ?? {}, new Date().toISOString());
  const { reason, message } = readiness;
  if (readiness.state === 'Stalled') return { state: 'stuck', message: haltOf(pool) ?? textOf(readiness) };
  if (readiness.state !== 'Held') return readyState(pool, readiness);
  const { paused } = rolloutView(pool);
  if (reason === 'Paused' && paused !== null)
    return {
      state: 'stuck',
      message: `it is paused by ${paused.by}${paused.reason === null ? '' : `: ${paused.reason}`}`,
    };
  if (reason === 'OutdatedVms')
    return { state: 'stuck', message: `its updateStrategy leaves VMs to others: ${message}` };
  return WAITED_FOR.has(reason) ? going(pool, reason, message) : { state: 'stuck', message: textOf(readiness) };
}

/** What holds a pool, and may end while a command waits. */
const WAITED_FOR = new Set<string>(['WaitingForApproval', 'ProgressDeadlineExceeded', 'Stuck']);

function readyStateOfSet(kind: OwnerKind, set: Stored<Owner>): ReadyState {
  // Members that were not to be started are as the template wants them, although none is available.
  const isToRun = kind.members.noun === 'VMI' || runsByItself(set.spec.template);
  const readiness = setReadiness({ ...wantedBy(set), isToRun }, set.status ?? {}, new Date().toISOString());
  return readiness.state === 'Held'
    ? { state: 'stuck', message: `it is paused: ${readiness.message}` }
    : readyState(set, readiness);
}

/** The worker says, as the condition `Stalled`, when a refusal has lasted for too long. */
const wantedBy = (owner: Stored<Owner>) => ({ replicas: wantedReplicas(owner), deadlineSeconds: Infinity });

function readyState(owner: Stored<Owner>, readiness: Readiness): ReadyState {
  if (readiness.state === 'Ready')
    return readiness.reason === 'OutdatedPods' ? { state: 'there', but: readiness.message } : { state: 'there' };
  if (readiness.state === 'Stalled') return { state: 'stuck', message: textOf(readiness) };
  return going(owner, readiness.reason, readiness.message);
}

const going = (owner: Stored<Owner>, phase: string, message: string): ReadyState => ({
  state: 'going',
  phase,
  message,
  notes: (owner.status?.conditions ?? [])
    .filter(({ type, status }) => status === 'True' && urgencyOf(type) !== undefined && !SAID.has(type))
    .map(textOf),
});

const textOf = ({ reason, message }: Pick<Condition, 'reason' | 'message'>): string =>
  [reason, message].filter(Boolean).join(': ');
