import { conditionOf, type Condition, type KubeObject, type Stored } from '../../api/objects.ts';
import { urgencyOf } from '../../decisions/notices/urgency.ts';
import type { Kind } from '../cli/kinds.ts';
import { isPool } from '../cli/owner.ts';
import { rolloutView } from '../pool/view.ts';
import { haltOf } from './format-change.ts';

/** What is read of any of the kinds that `drover apply` makes. */
type Applied = KubeObject & { status?: { observedGeneration?: number; conditions?: readonly Condition[] } };

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

/** What holds a pool, and may end while a command waits. */
const WAITED_FOR = new Set<string | undefined>(['WaitingForApproval', 'ProgressDeadlineExceeded', 'Stuck']);

/** By the conditions that kstatus reads as well. */
export function readyStateOf(kind: Kind, owner: Stored<Applied>): ReadyState {
  const { metadata, status } = owner;
  if (metadata.deletionTimestamp !== undefined) return { state: 'stuck', message: 'it is being deleted' };
  const ready = conditionOf(status, 'Ready');
  if (ready === undefined || (status?.observedGeneration ?? 0) < (metadata.generation ?? 0))
    return going(owner, { reason: 'Pending', message: 'waiting for a worker to pick it up' });
  // A budget may be ready and stalled: it is held, and only a user can make use of it.
  const stalled = conditionOf(status, 'Stalled');
  if (stalled !== undefined)
    return { state: 'stuck', message: (isPool(kind, owner) ? haltOf(owner) : undefined) ?? textOf(stalled) };
  if (ready.status === 'True')
    return ready.reason === 'OutdatedPods' ? { state: 'there', but: ready.message ?? '' } : { state: 'there' };
  if (conditionOf(status, 'Reconciling') !== undefined || WAITED_FOR.has(ready.reason)) return going(owner, ready);
  return { state: 'stuck', message: whyHeld(kind, owner, ready) };
}

function whyHeld(kind: Kind, owner: Stored<Applied>, ready: Condition): string {
  if (ready.reason === 'OutdatedVms') return `its updateStrategy leaves VMs to others: ${ready.message}`;
  if (ready.reason !== 'Paused') return textOf(ready);
  const paused = isPool(kind, owner) ? rolloutView(owner).paused : null;
  if (paused === null) return `it is paused: ${ready.message}`;
  return `it is paused by ${paused.by}${paused.reason === null ? '' : `: ${paused.reason}`}`;
}

const going = (
  owner: Stored<Applied>,
  { reason = '', message = '' }: Pick<Condition, 'reason' | 'message'>,
): ReadyState => ({
  state: 'going',
  phase: reason,
  message,
  notes: (owner.status?.conditions ?? [])
    .filter(({ type, status }) => status === 'True' && urgencyOf(type) !== undefined && !SAID.has(type))
    .map(textOf),
});

const textOf = ({ reason, message }: Pick<Condition, 'reason' | 'message'>): string =>
  [reason, message].filter(Boolean).join(': ');
