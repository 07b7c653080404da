import type { Condition, Stored } from '../../api/objects.ts';
import { identityOf } from '../../api/owner-references.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import type { OwnerKind } from '../cli/kinds.ts';
import { isPool, namedOrAll, type Owner } from '../cli/owner.ts';
import { knownRevisions } from '../pool/revisions.ts';
import { rolloutView, type RolloutView } from '../pool/view.ts';
import type { Session } from '../session/session.ts';
import { countStates, isReady, membersByOwner, replicasAmong, type Member } from './members.ts';
import { readProgress, workflowIdOf, type OwnerProgress, type Progress } from './progress.ts';

/** How far a pool or replica set is, as `-o json` of `status` and `describe` prints it. */
interface OwnerData {
  kind: string;
  namespace: string;
  name: string;
  /** RFC 3339, if it is being deleted. */
  deletionTimestamp?: string;
  /** How many replicas it is to have, has, and how many of these are ready; without standby and extra VMs. */
  desired: number;
  current: number;
  ready: number;
  available: number;
  /** How many VMs there are in each state: those of KubeVirt's `printableStatus`, and `Terminating`. */
  states: Record<string, number>;
  conditions: Condition[];
  /** Of a pool, as `drover rollout status -o json` prints it. */
  rollout?: RolloutView;
  /** Id of its workflow in Temporal. */
  workflow: string;
  /** What its workflow says; null if that is unknown. */
  inProgress: Pick<OwnerProgress, 'doing' | 'recentErrors' | 'retryAt'> | null;
  /** Why that is unknown; null if it is known. */
  unknown: string | null;
}

export interface OwnerState {
  /** Id of its workflow in Temporal. */
  workflow: string;
  kind: OwnerKind;
  owner: Stored<Owner>;
  members: Stored<Member>[];
  progress: Progress;
  rollout: RolloutView | undefined;
}

export function ownerData({ workflow, kind, owner, members, progress, rollout }: OwnerState): OwnerData {
  const { namespace = '', name, deletionTimestamp } = owner.metadata;
  const replicas = replicasAmong(members);
  return {
    kind: kind.resource.kind,
    namespace,
    name,
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    desired: wantedReplicas(owner),
    current: replicas.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length,
    ready: replicas.filter(isReady).length,
    available: owner.status?.availableReplicas ?? 0,
    states: Object.fromEntries(countStates(members)),
    conditions: owner.status?.conditions ?? [],
    ...(rollout === undefined ? {} : { rollout }),
    workflow,
    ...(progress.known
      ? {
          inProgress: {
            doing: progress.progress.doing,
            recentErrors: progress.progress.recentErrors,
            retryAt: progress.progress.retryAt,
          },
          unknown: null,
        }
      : { inProgress: null, unknown: progress.message }),
  };
}

/** Reads pools or replica sets, and what `status` tells of them. Throws `KubeError` (404) if a named one is missing. */
export async function readData(
  session: Session,
  kind: OwnerKind,
  which: { namespace: string | undefined; names: string[]; selector?: string | undefined },
): Promise<OwnerData[]> {
  const kube = await session.kube();
  const [owners, { items }] = await Promise.all([
    namedOrAll<Owner>(kube, kind.resource, which),
    kube.list<Member>(kind.members.resource, { namespace: which.namespace }),
  ]);
  const membersOf = membersByOwner(items, kind);
  const states = owners.map((owner) => readState(session, kind, owner, membersOf(identityOf(owner))));
  return (await Promise.all(states)).map(ownerData);
}

export async function readState(
  session: Session,
  kind: OwnerKind,
  owner: Stored<Owner>,
  members: Stored<Member>[],
): Promise<OwnerState> {
  const kube = await session.kube();
  const [workflow, progress, rollout] = await Promise.all([
    workflowIdOf(session, kind, owner),
    progressOf(session, kind, owner),
    isPool(kind, owner) ? knownRevisions(kube, owner).then((revisions) => rolloutView(owner, revisions)) : undefined,
  ]);
  return { workflow, kind, owner, members, progress, rollout };
}

/** What the workflow says, if Temporal's address is known. */
const progressOf = async (session: Session, kind: OwnerKind, owner: Stored<Owner>): Promise<Progress> =>
  (await session.knowsTemporal())
    ? readProgress(session, kind, owner)
    : { known: false, message: 'no address of Temporal is given (--address)' };
