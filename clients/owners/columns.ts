import { API_VERSION } from '../../api/labels-and-annotations.ts';
import { conditionOf, controllerOf, type KubeObject, type Stored } from '../../api/objects.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import { formerMemberOf } from '../../decisions/views/annotations/former-member.ts';
import { isProtected } from '../../decisions/views/annotations/protection.ts';
import type { ReplicaSet } from '../../decisions/views/owner.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { roleOf } from '../../decisions/views/vm.ts';
import { ownerKindOf, Pools, type OwnerKind } from '../cli/kinds.ts';
import type { Owner } from '../cli/owner.ts';
import { ageOf, plain, type Cell, type Column } from '../cli/print.ts';
import { rolloutView } from '../pool/view.ts';
import { styleOf } from '../rollout/lines.ts';
import { notableConditions } from './conditions.ts';
import { isReady, isTroubled, revisionOf, standbyOf, stateCell, stateOf, whyNotReady, type Member } from './members.ts';

interface ColumnChoice {
  wide: boolean;
  namespaces: boolean;
}

const column = <T extends KubeObject>(header: string, cell: (object: Stored<T>) => Cell, wide = false): Column => ({
  header,
  cell: cell as Column['cell'],
  wide,
});

const NAMESPACE = column('NAMESPACE', ({ metadata }) => metadata.namespace ?? '');
const NAME = column('NAME', ({ metadata }) => metadata.name);
const AGE = column('AGE', ({ metadata }) => ageOf(metadata.creationTimestamp));

const poolColumns: Column[] = [
  NAME,
  column<Pool>('DESIRED', wantedReplicas),
  column<Pool>('CURRENT', ({ status }) => status?.replicas ?? 0),
  column<Pool>('READY', readyCell),
  column<Pool>('UPDATED', ({ status }) => status?.updatedReplicas ?? 0),
  column<Pool>('ROLLOUT', rolloutCell),
  AGE,
  column<Pool>('REVISION', ({ status }) => status?.updateRevision ?? '<none>', true),
  column<Pool>('STANDBY', standbyCell, true),
  column<Pool>('STEP', stepCell, true),
  column<Pool>('FAILED', failedCell, true),
  column<Pool>('PROBLEM', problemCell, true),
];

/** Ready standby VMs, of the wanted ones. */
function standbyCell(pool: Pool): string {
  const standby = standbyOf(pool);
  return standby === null ? '<none>' : `${standby.ready}/${standby.wanted}`;
}

const replicaSetColumns: Column[] = [
  NAME,
  column<ReplicaSet>('DESIRED', wantedReplicas),
  column<ReplicaSet>('CURRENT', ({ status }) => status?.replicas ?? 0),
  column<ReplicaSet>('READY', readyCell),
  column<ReplicaSet>('AVAILABLE', ({ status }) => status?.availableReplicas ?? 0),
  AGE,
  column<ReplicaSet>('SELECTOR', ({ status }) => status?.labelSelector ?? '<none>', true),
  column<ReplicaSet>('PROBLEM', problemCell, true),
];

const STATUS = column<Member>('STATUS', (vm) => stateCell(stateOf(vm), isReady(vm)));
const READY = column<Member>('READY', (vm) => (isReady(vm) ? 'True' : 'False'));
const OWNER = column<Member>('OWNER', ownerCell);
const WHY = column<Member>('WHY', whyCell);

export const vmColumns: Column[] = [
  NAME,
  STATUS,
  READY,
  OWNER,
  column<Member>('REVISION', revisionOf),
  AGE,
  column<Member>('STRATEGY', ({ spec }) => spec?.runStrategy ?? '<none>', true),
  column<Member>('MACHINE TYPE', ({ spec }) => spec?.template?.spec?.domain?.machine?.type ?? '<none>', true),
  column<Member>('PROTECTED', ({ metadata }) => (isProtected(metadata, Date.now()) ? 'True' : 'False'), true),
  WHY,
];

export const vmiColumns: Column[] = [
  NAME,
  STATUS,
  READY,
  OWNER,
  AGE,
  column<Member>('NODE', ({ status }) => status?.nodeName ?? '<none>', true),
  column<Member>('MACHINE TYPE', ({ status }) => status?.machine?.type ?? '<none>', true),
  WHY,
];

/** A standby VM that is stopped or paused is as it should be. */
function whyCell(vm: Stored<Member>): string {
  return roleOf(vm.metadata.labels) === 'Standby' && !isTroubled(vm) ? 'standby VM' : whyNotReady(vm);
}

function readyCell(owner: Owner): Cell {
  const ready = owner.status?.readyReplicas ?? 0;
  // VMs that are to be stopped are wanted as well.
  const isWell = ready >= wantedReplicas(owner) || conditionOf(owner.status, 'Ready')?.status === 'True';
  return { text: String(ready), style: isWell ? 'green' : 'yellow' };
}

/** A pool by its name; a set as commands take it, such as `vmrs/runners`. */
function ownerCell(vm: Member): Cell {
  const owner = controllerOf(vm);
  if (owner === undefined) {
    const former = formerMemberOf(vm.metadata.annotations);
    return former === null ? '<none>' : `<none>, detached from ${plain(former.pool)}`;
  }
  // KubeVirt has kinds of the same names.
  const kind = owner.apiVersion === API_VERSION ? ownerKindOf(owner.kind) : undefined;
  return kind === undefined || kind === Pools ? owner.name : `${kind.aliases[0]}/${owner.name}`;
}

function rolloutCell(pool: Stored<Pool>): Cell {
  const view = rolloutView(pool);
  const isPauseRequested = view.paused !== null && view.phase !== 'Paused';
  return { text: isPauseRequested ? `${view.phase} (paused)` : view.phase, style: styleOf(view) };
}

/** A complete rollout has no step ahead. */
function stepCell(pool: Stored<Pool>): Cell {
  const { step, end } = rolloutView(pool);
  return step === null || end === 'Complete' ? '<none>' : `${step.passed}/${step.of}`;
}

function failedCell(pool: Stored<Pool>): Cell {
  const { length } = rolloutView(pool).failures;
  return length === 0 ? 0 : { text: String(length), style: 'red' };
}

/** The worst of what is wrong, or else what is being healed. */
function problemCell({ status }: Owner): Cell {
  const problem = notableConditions(status?.conditions).find(({ type, tone }) => tone !== 'busy' || type === 'Healing');
  return problem === undefined
    ? '<none>'
    : { text: [problem.reason, problem.message].filter(Boolean).join(': '), style: 'red' };
}

export const columnsOfOwners = (kind: OwnerKind): Column[] => (kind === Pools ? poolColumns : replicaSetColumns);

/** Columns of a member below its owner, which the table above names: members of sets have no revision. */
export const columnsOfMembers = (kind: OwnerKind): Column[] =>
  (kind.members.noun === 'VM' ? vmColumns : vmiColumns).filter(
    ({ header }) => header !== 'OWNER' && (kind === Pools || header !== 'REVISION'),
  );

const chosen = (columns: Column[], { wide, namespaces }: ColumnChoice): Column[] => [
  ...(namespaces ? [NAMESPACE] : []),
  ...columns.filter((column) => wide || column.wide !== true),
];

export const headersOf = (columns: Column[], choice: ColumnChoice): string[] =>
  chosen(columns, choice).map(({ header }) => header);

export const rowOf = (columns: Column[], choice: ColumnChoice, object: Stored): Cell[] =>
  chosen(columns, choice).map(({ cell }) => cell(object));
