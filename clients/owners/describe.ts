import { stringify } from 'yaml';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { CoreEvents } from '../../api/resources.ts';
import { DEFAULT_STANDBY_STATE } from '../../api/rules/pool-defaults.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { OWNERS, type OwnerKind } from '../cli/kinds.ts';
import { isPool, type Owner } from '../cli/owner.ts';
import { ageOf, printNote, plain, print, table, printItems, type DataFormat } from '../cli/print.ts';
import { targetsOf } from '../cli/targets.ts';
import { timeOfEvent, type CoreEvent } from '../history/core-event.ts';
import { lastWarnings, type Warning } from '../history/warnings.ts';
import type { RolloutView } from '../pool/view.ts';
import { rolloutLines } from '../rollout/lines.ts';
import type { Session, Work } from '../session/session.ts';
import { ownerData, readStates, type OwnerState } from './data.ts';
import { formatStates, isStopped, standbyOf, whyNotReady, type Member } from './members.ts';
import { workflowUrl, type Progress } from './progress.ts';

const EVENTS = 20;
const NOT_READY_SHOWN = 10;

/** Prints all that is known about pools or replica sets. */
export const describeOwners: Work<{ output?: DataFormat }> = async (session, { output }, ...args) => {
  const { kind, names } = targetsOf(args, OWNERS);
  const namespace = await session.namespace();
  const states = await readStates(session, { kind, namespace, names });
  const all = await Promise.all(states.map((state) => readBeside(session, state)));
  if (output !== undefined) return printItems(all.map(describedData), output, { isOne: names.length === 1 });
  if (all.length === 0) printNote(`No resources found in ${namespace} namespace.`);
  else print(all.map((known) => describeOwner(known).join('\n')).join('\n\n\n'));
};

/** All that is known about a pool or replica set. */
interface Known extends OwnerState {
  /** The newest, oldest first. */
  events: Stored<CoreEvent>[];
  /** The last about each member that is not ready. */
  warnings: ReadonlyMap<string, Warning>;
  /** Of its workflow in Temporal's Web UI, if that is known. */
  url: string | undefined;
}

export async function readBeside(session: Session, state: OwnerState): Promise<Known> {
  const kube = await session.kube();
  const { owner, members } = state;
  const { namespace = '', uid } = owner.metadata;
  const fieldSelector = `involvedObject.uid=${uid}`;
  const { items: events } = await kube.list<CoreEvent>(CoreEvents, { namespace, fieldSelector });
  const url = state.progress.known ? await workflowUrl(session, state.workflow) : undefined;
  const newest = events.sort((a, b) => Date.parse(timeOfEvent(a)) - Date.parse(timeOfEvent(b))).slice(-EVENTS);
  const down = members.filter((one) => !one.isReady && !isStopped(one)).map(({ metadata: { name } }) => name);
  const warnings = await lastWarnings(kube, namespace, new Set(down));
  return { ...state, url, events: newest, warnings };
}

/** Describes all that is known about a pool or replica set, as lines for a user. */
export function describeOwner(known: Known): string[] {
  const { kind, owner } = known;
  return [
    ...headLines(kind, owner),
    ...(known.rollout === undefined ? [] : rolloutSection(known.rollout)),
    ...specLines(owner),
    ...conditionLines(owner),
    ...memberLines(known),
    ...workflowLines(known.workflow, known),
    ...eventLines(known.events),
  ];
}

/** The same for programs. */
export function describedData(known: Known) {
  return {
    ...ownerData(known),
    workflowUrl: known.url ?? null,
    notReady: known.members
      .filter(({ isReady }) => !isReady)
      .map((vm) => ({
        name: vm.metadata.name,
        state: vm.status,
        message: whyNotReady(vm, known.warnings.get(vm.metadata.name)) || null,
      })),
    events: known.events.map((event) => ({
      time: timeOfEvent(event),
      type: event.type ?? null,
      reason: event.reason ?? null,
      message: event.message ?? null,
    })),
    spec: known.owner.spec,
  };
}

const field = (name: string, value: string): string => `${`${name}:`.padEnd(14)}${plain(value)}`;

function headLines(kind: OwnerKind, owner: Stored<Owner>): string[] {
  const { metadata, status } = owner;
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status ?? {};
  const { name, namespace = '', labels = {}, creationTimestamp, deletionTimestamp } = metadata;
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const members = `${kind.members.noun}s`;
  const surge = isPool(kind, owner) ? (owner.status?.surgeReplicas ?? 0) : 0;
  const extra = surge === 0 ? '' : ` (${surge} extra)`;
  const counts = `${wantedReplicas(owner)} desired, ${replicas} total${extra}, ${readyReplicas} ready`;
  return [
    field('Name', name),
    field('Namespace', namespace),
    field('Labels', pairs.join(', ') || '<none>'),
    field('Created', `${creationTimestamp} (${ageOf(creationTimestamp)} ago)`),
    ...(deletionTimestamp === undefined
      ? []
      : [
          field(
            'Deleted',
            `${deletionTimestamp} (${ageOf(deletionTimestamp)} ago), its ${members} are being taken down`,
          ),
        ]),
    ...(isPool(kind, owner)
      ? [
          field(members, `${counts}, ${owner.status?.updatedReplicas ?? 0} updated`),
          ...standbyLine(owner),
          revisionLine(owner),
        ]
      : [field(members, `${counts}, ${availableReplicas} available`)]),
  ];
}

function standbyLine(pool: Pool): string[] {
  const standby = standbyOf(pool);
  if (standby === null) return [];
  const { wanted, total, ready } = standby;
  const { state = DEFAULT_STANDBY_STATE } = pool.spec.standby ?? {};
  return [field('Standby', `${wanted} desired (${state}), ${total} total, ${ready} ready`)];
}

function revisionLine({ status }: Stored<Pool>): string {
  const { updateRevision = '<none yet>', currentRevision } = status ?? {};
  const before =
    currentRevision === undefined || currentRevision === updateRevision
      ? ''
      : `, and all VMs had ${currentRevision} last`;
  return field('Revision', `${updateRevision}${before}`);
}

function rolloutSection(view: RolloutView): string[] {
  const { startedAt, completedAt, batches } = view;
  if (startedAt === null && view.paused === null) return [];
  // All VMs have been made from this template: nothing was rolled out.
  if (batches === 0 && completedAt !== null) return ['Rollout:', ...indent(rolloutLines(view, Date.now()))];
  const began =
    startedAt === null ? [] : [`began ${ageOf(startedAt)} ago, ${batches} ${batches === 1 ? 'batch' : 'batches'}`];
  const ended = completedAt === null ? [] : [`complete since ${ageOf(completedAt)}`];
  return ['Rollout:', ...indent([...rolloutLines(view, Date.now()), ...began, ...ended])];
}

/** Shows the spec without the template, and the template's fields that tell VMs apart at a glance. */
function specLines({ spec }: Owner): string[] {
  const { template, replicas: _replicas, ...rest } = spec;
  const vm = template.spec as {
    runStrategy?: string;
    running?: boolean;
    instancetype?: { name?: string };
    dataVolumeTemplates?: KubeObject[];
  };
  const disks = (vm.dataVolumeTemplates ?? []).map(({ metadata }) => metadata.name);
  const fromRunning = vm.running === true ? 'Always' : 'Halted';
  const strategy = vm.runStrategy ?? (vm.running === undefined ? undefined : fromRunning);
  return [
    ...(strategy === undefined ? [] : [field('Run strategy', strategy)]),
    ...(vm.instancetype?.name === undefined ? [] : [field('Instancetype', vm.instancetype.name)]),
    ...(disks.length === 0 ? [] : [field('DataVolumes', disks.join(', '))]),
    ...(Object.keys(rest).length === 0
      ? []
      : ['Spec:', ...indent(stringify(rest, { lineWidth: 0 }).trimEnd().split('\n'))]),
  ];
}

function conditionLines({ status }: Owner): string[] {
  const conditions = status?.conditions ?? [];
  if (conditions.length === 0) return [field('Conditions', '<none>')];
  const rows = conditions.map(({ type, status, reason = '', lastTransitionTime, message = '' }) => [
    type,
    status,
    reason,
    ageOf(lastTransitionTime),
    message,
  ]);
  return ['Conditions:', ...indent(table(['TYPE', 'STATUS', 'REASON', 'SINCE', 'MESSAGE'], rows))];
}

function memberLines({ members, warnings }: Pick<Known, 'members' | 'warnings'>): string[] {
  const notReady = members
    .filter(({ isReady }) => !isReady)
    .flatMap((vm) => rowsOf(vm, warnings.get(vm.metadata.name)))
    .slice(0, NOT_READY_SHOWN);
  return [
    field('States', formatStates(members)),
    ...(notReady.length === 0 ? [] : ['Not ready:', ...indent(table(['NAME', 'STATUS', 'WHY'], notReady))]),
  ];
}

/** Returns a row for a VM that KubeVirt says something about; none for other VMs. */
function rowsOf(vm: Member, warning: Warning | undefined): string[][] {
  const message = whyNotReady(vm, warning);
  return message === '' ? [] : [[vm.metadata.name, vm.status, message]];
}

function workflowLines(id: string, { progress, url }: Known): string[] {
  return [
    field('Workflow', id),
    ...(url === undefined ? [] : [field('', url).replace(':', ' ')]),
    ...progressLines(progress),
  ];
}

function progressLines(result: Progress): string[] {
  if (!result.known) return [field('In progress', `not known: ${result.message}`)];
  const { doing, recentErrors, retryAt } = result.progress;
  const rows = recentErrors.map(({ time, reason, message }) => [ageOf(time), reason, message]);
  return [
    ...(doing.length === 0 ? [field('In progress', 'nothing')] : ['In progress:', ...indent(doing.map(plain))]),
    ...(retryAt === null ? [] : [field('Next try', retryAt)]),
    ...(rows.length === 0 ? [] : ['Last errors:', ...indent(table(['AGE', 'REASON', 'MESSAGE'], rows))]),
  ];
}

function eventLines(events: Stored<CoreEvent>[]): string[] {
  if (events.length === 0) return [field('Events', '<none>')];
  const rows = events.map((event) => [
    event.type ?? '',
    event.reason ?? '',
    ageOf(timeOfEvent(event)),
    event.message ?? '',
  ]);
  return ['Events:', ...indent(table(['TYPE', 'REASON', 'AGE', 'MESSAGE'], rows))];
}

const indent = (lines: string[]): string[] => lines.map((line) => `  ${line}`);
