import type { Condition, Stored } from '../../api/objects.ts';
import { identityOf } from '../../api/owner-references.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import type { OwnerKind } from '../cli/kinds.ts';
import { isPool, namedOrAll, type Owner } from '../cli/owner.ts';
import { lastWarnings, type Warning } from '../history/warnings.ts';
import { knownRevisions } from '../pool/revisions.ts';
import { rolloutView, type RolloutView } from '../pool/view.ts';
import type { Session } from '../session/session.ts';
import {
  countStates,
  isStopped,
  memberOf,
  membersByOwner,
  replicasAmong,
  whyNotReady,
  type Member,
} from './members.ts';
import { readProgress, workflowIdOf, type OwnerProgress, type Progress } from './progress.ts';

/** How far a pool or replica set is, as `-o json` of `status` prints it. */
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
  /** Its members that are not ready, if it was named. */
  notReady?: { name: string; state: string; message: string | null }[];
  /** The rollout of a pool, as `drover rollout status -o json` prints it. */
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
  members: Member[];
  progress: Progress;
  rollout: RolloutView | undefined;
  /** The last about each member that is not ready, of an object that was named. */
  warnings: ReadonlyMap<string, Warning> | undefined;
}

export function ownerData({ workflow, kind, owner, members, progress, rollout, warnings }: OwnerState): OwnerData {
  const { namespace = '', name, deletionTimestamp } = owner.metadata;
  const replicas = replicasAmong(members);
  return {
    kind: kind.resource.kind,
    namespace,
    name,
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    desired: wantedReplicas(owner),
    current: replicas.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length,
    ready: replicas.filter(({ isReady }) => isReady).length,
    available: owner.status?.availableReplicas ?? 0,
    states: Object.fromEntries(countStates(members)),
    conditions: owner.status?.conditions ?? [],
    ...(warnings && {
      notReady: notReadyAmong(members).map((member) => ({
        name: member.metadata.name,
        state: member.status,
        message: whyNotReady(member, warnings.get(member.metadata.name)) || null,
      })),
    }),
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

/** VMs that are not ready though their owner has not stopped them. */
export const notReadyAmong = (members: readonly Member[]): Member[] =>
  members.filter((member) => !member.isReady && !isStopped(member));

/** Which pools or replica sets are shown. */
export interface WhichOwners {
  kind: OwnerKind;
  /** Undefined for all namespaces. */
  namespace: string | undefined;
  /** Empty for all objects of the kind. */
  names: string[];
  /** A label selector for the objects, not for their members. */
  selector?: string | undefined;
}

/** Reads pools or replica sets, with what is in progress. Throws `KubeError` (404) if a named one is missing. */
export async function readStates(session: Session, which: WhichOwners): Promise<OwnerState[]> {
  const { kind, namespace } = which;
  const kube = await session.kube();
  const [owners, { items }] = await Promise.all([
    namedOrAll<Owner>(kube, kind.resource, which),
    kube.list(kind.members.resource, { namespace }),
  ]);
  const membersOf = membersByOwner(items.map(memberOf(kind.members)), kind);
  return Promise.all(
    owners.map(async (owner) => {
      const members = membersOf(identityOf(owner));
      const down = new Set(notReadyAmong(members).map(({ metadata }) => metadata.name));
      const warnings = which.names.length === 0 ? undefined : await lastWarnings(kube, owner.metadata.namespace!, down);
      return { ...(await readState(session, kind, owner, members)), warnings };
    }),
  );
}

async function readState(
  session: Session,
  kind: OwnerKind,
  owner: Stored<Owner>,
  members: Member[],
): Promise<Omit<OwnerState, 'warnings'>> {
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
