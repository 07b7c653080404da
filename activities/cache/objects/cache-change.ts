import type { VmRolloutStrategy } from '../../../api/pool/pool.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import type { KeptClaim } from '../../../decisions/template/kept-disk.ts';
import type { OwnReference } from '../../../decisions/template/references.ts';
import type { MigrationView } from '../../../decisions/views/migration.ts';
import type { NodeView } from '../../../decisions/views/node.ts';
import type { StoredVmiSet, StoredReplicaSet } from '../../../decisions/views/owner.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';

/** A change of an object: undefined before it was there, and after it has gone. */
interface Change<Kind extends string, View> {
  kind: Kind;
  before: View | undefined;
  after: View | undefined;
}

/** A change of an object that owns members; `kind` is the noun of its kind. */
export type OwnerChange =
  | Change<'pool', StoredPool>
  | Change<'replica set', StoredReplicaSet>
  | Change<'VMI replica set', StoredVmiSet>;

/** What a worker's cache tells its listeners. */
export type CacheChange =
  | ObjectChange
  /** A namespace is left to its own workers, or no longer is. */
  | { kind: 'claim'; namespace: string }
  /** A namespace has come or gone, or has got other labels. */
  | { kind: 'namespace' };

/** Changes of objects that pools, sets and operations go by. */
export type ObjectChange =
  | OwnerChange
  | Change<'operation', StoredOperation>
  | Change<'schedule', StoredSchedule>
  | Change<'budget', StoredBudget>
  | Change<'vm', VmView>
  | Change<'vmi', VmiView>
  /** A migration by which drover moves a VM off its node. */
  | Change<'migration', MigrationView>
  /** A kept disk. */
  | Change<'disk', KeptClaim>
  /** The node has become ready or not ready, has got other taints or labels, or has come or gone. */
  | Change<'node', NodeView>
  /** The content of a Secret or ConfigMap that pools of the namespace ask for; undefined: of any. */
  | { kind: 'content'; namespace: string; reference: OwnReference | undefined }
  | { kind: 'strategy'; before: VmRolloutStrategy; after: VmRolloutStrategy };
