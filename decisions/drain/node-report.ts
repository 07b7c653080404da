import { liveVmi, type VmiOf } from '../disruption-budget/availability.ts';
import { EXTERNAL } from '../template/template.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { planDrain, type Standing } from './plan.ts';

/** How far a VMI is from leaving its node. */
export interface Leaver {
  namespace: string;
  name: string;
  /** `VirtualMachinePool/web`; null for a VMI that none controls, or a VM that none does. */
  owner: string | null;
  /**
   * `NotAsked`: drover moves it once its pod is to be evicted. `KubeVirt`, `Ends`: KubeVirt migrates it then, or lets it
   * end. `Blocked`: it stays until a person acts.
   */
  state: Standing['state'] | 'NotAsked' | 'KubeVirt' | 'Ends' | 'Blocked';
  /** What happens to it, or what it waits for; completes its name to a sentence. */
  words: string;
}

/** A VMI on the node, and what it belongs to. */
export interface OnNode {
  vmi: VmiView;
  /** Null for a VMI without a VM. */
  vm: VmView | null;
  /** The pool of drover's that owns the VM; null if none does. */
  pool: StoredPool | null;
}

export interface NodeReportInput {
  onNode: readonly OnNode[];
  /** All VMs of a pool. */
  membersOf: (pool: StoredPool) => readonly VmView[];
  vmiOf: VmiOf;
  /** The eviction strategy of VMIs that have none of their own. */
  clusterStrategy: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Returns what each of the VMIs on a node does, or waits for, to leave it. */
export function nodeReport({ onNode, membersOf, vmiOf, clusterStrategy, now }: NodeReportInput): Leaver[] {
  const standings = new Map<string, Map<string, Standing>>();
  const standingOf = (pool: StoredPool, vm: VmView): Standing | undefined => {
    const known = standings.get(pool.metadata.uid);
    if (known !== undefined) return known.get(vm.name);
    const vms = membersOf(pool);
    const plan = planDrain({ pool, vms, vmiOf, acting: [], busy: new Map(), refusals: [], now });
    standings.set(pool.metadata.uid, new Map(plan.standings.map((standing) => [standing.vm, standing])));
    return standingOf(pool, vm);
  };
  return onNode.map(({ vmi, vm, pool }) => {
    const { namespace, name } = vmi;
    const controller = vm === null ? (vmi.standalone?.owner ?? null) : vm.owner;
    const owner = controller === null ? null : `${controller.kind}/${controller.name}`;
    const standing = pool === null || vm === null ? undefined : standingOf(pool, vm);
    const told = standing ?? withoutStanding(vmi, pool, clusterStrategy);
    return { namespace, name, owner, state: told.state, words: told.words };
  });
}

type Told = Pick<Leaver, 'state' | 'words'>;

function withoutStanding(vmi: VmiView, pool: StoredPool | null, clusterStrategy: string): Told {
  if (liveVmi(vmi) === undefined) return { state: 'Ends', words: 'is ending' };
  const strategy = vmi.evictionStrategy ?? clusterStrategy;
  const drains = pool?.spec.drain !== undefined;
  if (strategy === EXTERNAL && drains)
    return { state: 'NotAsked', words: 'is moved within the budget of its pool once its pod is to be evicted' };
  return byKubeVirt(vmi, strategy);
}

/** What KubeVirt does at an eviction, by the strategy. */
function byKubeVirt({ migratable, migrating, evacuationNode, node }: VmiView, strategy: string): Told {
  const migrates: Told = {
    state: 'KubeVirt',
    words:
      migrating || evacuationNode === node
        ? 'is being migrated by KubeVirt'
        : 'is migrated by KubeVirt once its pod is to be evicted',
  };
  const ends: Told = { state: 'Ends', words: 'ends when its pod is evicted, as PodDisruptionBudgets allow' };
  switch (strategy) {
    case 'LiveMigrate':
      return migratable
        ? migrates
        : {
            state: 'Blocked',
            words: 'stays: KubeVirt cannot migrate it, and evictionStrategy LiveMigrate prevents its eviction',
          };
    case 'LiveMigrateIfPossible':
      return migratable ? migrates : ends;
    case EXTERNAL:
      return { state: 'Blocked', words: 'stays until something other than drover moves it: its strategy is External' };
    default:
      return ends;
  }
}
